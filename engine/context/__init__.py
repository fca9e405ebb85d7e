"""The context of a statement: its memory, its progress, its devices."""
