"""Delimited text, .csv and .tbl: records, types of columns, reading, and what is wrong with it."""
