"""JSON lines: what goes to the parser, reading, and what is wrong with a file."""
