"""Encodings of column chunks."""
