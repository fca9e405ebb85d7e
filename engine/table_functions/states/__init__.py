"""detect_changes(), detect_states() and state_profile()."""
