"""Bytes: tables and their constraints, FlatStor files, the durable directory, readers of files."""
