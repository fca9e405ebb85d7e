"""What a statement runs in: its memory, its progress, its devices."""
