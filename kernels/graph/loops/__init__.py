"""The hot loops of graphs."""
