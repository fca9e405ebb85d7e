"""The fused path: BVHs, whole tables and newer rows, and one job over them for a query."""
