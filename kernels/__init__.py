"""Arrays in, arrays out: encoding, the BVH, and the fused Scan/GroupBy/Aggregate job on it."""
