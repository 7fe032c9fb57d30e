"""Compiling: kernels, their cache on disk, and what Numba is told."""
