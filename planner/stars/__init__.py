"""Star queries: matching, the choice of a BVH, fused plans."""
