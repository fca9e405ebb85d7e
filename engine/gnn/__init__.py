"""Training of graph neural networks over the parts of a graph: `raydb.gnn.train`."""
