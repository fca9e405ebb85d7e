"""The BVH: encoding, cells, intervals, sieves and partitions."""
