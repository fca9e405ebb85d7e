"""Subqueries that read an outer row, as joins."""
