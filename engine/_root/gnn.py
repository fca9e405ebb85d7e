"""Graph neural networks over the tables of a graph: training in parts.

>>> graph = con.graph(nodes="paper", edges="cites")
>>> model = torch_geometric.nn.GraphSAGE(64, 32, 2, 7)
>>> found = raydb.gnn.train(graph, model, target="topic", parts=4, epochs=50, cluster="local")
>>> found.losses[-1], found.chosen

It needs torch and torch-geometric: pip install 'raydb[gnn]'. docs/graphs.md tells the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from raydb.errors import NotSupportedError

if TYPE_CHECKING:
    from raydb.engine.gnn.training import Training
    from raydb.engine.graphs.graph import Graph

__all__ = ["train"]


class Options(TypedDict, total=False):
    """What `train` may be told; see there."""

    features: str
    train: Any
    parts: int
    epochs: int
    combine: str
    dependencies: str
    every: int
    lr: float
    weight_decay: float
    alpha: float
    staleness: int
    seed: int
    cluster: object
    cluster_insecure: bool
    checkpoint: str | None
    checkpoint_every: int
    resume: bool


def train(graph: Graph, model: Any, target: str, **options: Unpack[Options]) -> Training:
    """Train a model over the parts of a graph, each with the neighbours that its layers need.

    model: a torch.nn.Module that is called as model(x, edge_index) and has layers of PyG's
    MessagePassing, which is trained in place; or 'module:function' that makes one, as workers of a
    cluster take it. target: the column of labels, classes from 0 on where it is of whole numbers,
    else values.

    - features='x': the column that is x. train=None: the nodes that are trained on, a BOOLEAN
      column or their numbers; None for all. parts=1. epochs=10: until there were so many.
    - combine='average': of models that are trained alone, each over its part (Huang et al.,
      "CATGNN", 2024, section 3.3), every=1 epochs; or 'partial': of gradients, from those workers
      that come in time (Cao et al., "NeutronCloud", PVLDB 19(1), 2025, section 5). A round takes
      alpha=0.5 longer than usual at most, and of staleness=3 rounds each worker joins one.
    - dependencies='auto': neighbours in other parts are computed ('cache') or their embeddings are
      received ('communicate'), chosen for each by what was measured (section 4 there).
    - cluster=None: in this process; 'local': a process for each part; else as of `raydb.connect`,
      cluster_insecure=False too.
    - checkpoint=None: a table for losses and the state, each checkpoint_every=10 epochs and at the
      end; with resume=True the training goes on from it, where it is there.
    - lr=0.01, weight_decay=0.0: of Adam. seed=1.

    Raises ProgrammingError for arguments and models that do not fit, DataError for features and
    labels that are NULL or NaN and for a loss that is no number, OperationalError where workers are
    lost again and again, NotSupportedError without torch.
    """
    from raydb.engine.gnn.asked import asked_of  # noqa: PLC0415  (the engine, when it is needed)

    asked = asked_of(target, options)
    try:
        from raydb.engine.gnn.training import run  # noqa: PLC0415  (an extra, which takes seconds)
    except ImportError as error:
        raise NotSupportedError(
            f"training needs torch and torch-geometric: pip install 'raydb[gnn]' ({error})"
        ) from None
    return run(graph, model, asked)
