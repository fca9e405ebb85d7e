"""The database directory: versions that survive a crash."""
