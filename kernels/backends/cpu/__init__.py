"""The CPU backend: numba kernels over sorted rows. numba is imported only in here."""
