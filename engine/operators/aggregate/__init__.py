"""Aggregates over Arrow."""
