"""Rows of many chunks at once, where they lie in a file: decoded into Arrow's buffers."""
