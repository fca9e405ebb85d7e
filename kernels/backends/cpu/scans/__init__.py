"""Fused jobs over the rows of a table in their order, and their compiled loops."""
