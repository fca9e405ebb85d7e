"""Table functions: each has its own folder or file."""
