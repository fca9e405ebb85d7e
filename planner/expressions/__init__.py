"""Bound expressions, their evaluator and the scalar functions."""
