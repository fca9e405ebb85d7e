"""Bound queries for all texts that differ in constants only."""
