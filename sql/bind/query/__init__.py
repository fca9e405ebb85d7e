"""Queries, clause by clause."""
