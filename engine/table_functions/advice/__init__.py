"""Table functions that read a workload and say what to declare or to create for it."""
