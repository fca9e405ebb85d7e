"""partition_graph() and partition_stats()."""
