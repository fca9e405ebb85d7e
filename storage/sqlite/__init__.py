"""Databases of SQLite, read through Python's own module."""
