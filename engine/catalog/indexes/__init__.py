"""Indexes that lie beside the rows of a table: of vectors and of texts."""
