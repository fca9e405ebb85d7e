"""What a user holds: connections, cursors, appenders."""
