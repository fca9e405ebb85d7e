"""Training of graph neural networks over the parts of a graph: `raydb.gnn.train`."""

from raydb.late import import_on_use

import_on_use(__name__)
