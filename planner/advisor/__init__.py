"""Which BVHs to create for a workload."""
