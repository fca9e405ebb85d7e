"""What a user holds: connections, cursors, and the session that runs their statements."""
