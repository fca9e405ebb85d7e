"""Vector search: exact and IVF, calibrated stops, and their compiled loops."""
