"""Who does it: one file per library, with a function per task.

The function gets the arrays of the task and returns another one, which is timed: it fits with a given number of
iterations, from scratch, and returns the arrays that it found. Putting data into the form that a library wants
(a tensor, single precision) is not timed.
"""
