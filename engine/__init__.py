"""Connections and cursors, the session that runs their statements, and the command `raydb`."""
