"""Joins over Arrow."""
