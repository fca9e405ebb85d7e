"""The hot loops of vector search."""
