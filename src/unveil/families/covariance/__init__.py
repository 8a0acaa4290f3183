"""Structures of covariances: volume, shape and orientation, each shared or not."""
