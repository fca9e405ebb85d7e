"""Statements that define, change or tell."""
