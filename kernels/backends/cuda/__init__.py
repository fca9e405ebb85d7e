"""Fused jobs on CUDA cores: numba-cuda kernels over device memory."""
