"""The session: from the text of a statement to its result."""
