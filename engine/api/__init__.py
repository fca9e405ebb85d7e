"""The Python interface: connections, cursors, appenders."""
