"""What is kept in files: checked where it is read, before a loop relies on it."""
