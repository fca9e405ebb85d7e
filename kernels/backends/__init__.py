"""Backends of fused jobs, and the choice among them."""
