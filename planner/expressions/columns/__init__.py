"""Columns of values: how numpy and Arrow compute with decimals, lists, dates and intervals."""
