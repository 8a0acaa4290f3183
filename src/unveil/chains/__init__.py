"""Hidden Markov models: faces, what a fitted chain does, the model, and its recursions."""
