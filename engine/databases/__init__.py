"""The databases that a process has open, and those that a session sees beside its own."""
