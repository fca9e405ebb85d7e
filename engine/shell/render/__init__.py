"""Answers as text: their shapes, colours and widths, and where they go."""
