"""Everything that knows Numba: compiling kernels, keeping them on disk, hashing code."""
