"""Snapshots of the database, kept in a directory, and what is derived from their tables."""
