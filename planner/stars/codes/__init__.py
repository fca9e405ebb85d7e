"""What expressions are over the codes of a BVH: masks, key tuples, cells and groups."""
