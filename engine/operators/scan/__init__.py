"""Scans of tables: of columns as a whole, of blocks of rows, of the rows that are wanted."""
