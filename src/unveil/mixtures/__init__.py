"""Mixtures by EM: faces, what a fitted mixture does, starts, the model."""
