"""Tables: rows, constraints, keys and changes."""
