"""What is to be done: data from a fixed seed, what is timed, and how a solution is judged."""
