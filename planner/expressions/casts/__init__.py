"""Checked casts between the SQL types."""
