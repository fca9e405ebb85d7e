"""A graph divided for a training: its parts with their halo, and what a worker of each is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.engine.context.progress import report
from raydb.engine.gnn.messages import encode
from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.interrupts import beside
from raydb.kernels.graph.halo import part_with_halo
from raydb.kernels.graph.partition import Edges, Question, partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.engine.gnn.asked import Asked
    from raydb.engine.graphs.graph import Graph
    from raydb.kernels.graph.halo import Part

_BALANCE, _REFINE = 1.05, 10


class Divided:
    """The parts of a graph, of nodes of one kind.

    Raises ProgrammingError for more parts than nodes, DataError for labels that are none,
    NotSupportedError for nodes of several kinds.
    """

    def __init__(self, graph: Graph, asked: Asked) -> None:
        if list(graph.all_nodes) != [None] or list(graph.edges) != [None]:
            raise NotSupportedError(
                "training over parts is for nodes and edges of one kind; make such a graph"
            )
        self._nodes, edges = graph.all_nodes[None], graph.edges[None]
        self._asked = asked
        count = self._nodes.count
        if asked.parts > count:
            raise ProgrammingError(f"{asked.parts} parts are more than the {count} nodes")
        self.starts, self.sources = edges.starts, edges.sources
        self.train = _training_nodes(graph, asked)
        self.labels, self.are_classes = self._labels()
        self.width = self._feature_width()
        self.owner = self._partition()
        targets = np.repeat(np.arange(count, dtype=np.int32), np.diff(self.starts))
        has_loop = np.zeros(count, bool)
        has_loop[targets[targets == self.sources]] = True
        self._degree = np.diff(self.starts) + ~has_loop

    @property
    def all_counts(self) -> tuple[int, ...]:
        """How many training nodes each part has."""
        counts = np.bincount(self.owner[self.train], minlength=self._asked.parts)
        return tuple(counts.tolist())

    def part(self, number: int, hops: int) -> Part:
        """Return a part with its halo."""
        own = np.flatnonzero(self.owner == number)
        return part_with_halo(self.starts, self.sources, own, hops)

    def message(self, number: int, part: Part, more: Any, arrays: Any) -> bytes:
        """Return what makes a worker that of a part."""
        own = part.nodes[: part.own]
        is_trained = self.owner[self.train] == number
        x = self._nodes.take(self._asked.features, part.nodes)
        return encode(
            {"say": "part", "ends": part.ends, "are_classes": self.are_classes, **more},
            {
                **arrays,
                "starts": part.starts,
                "sources": part.sources,
                "degree": self._degree[part.nodes],
                "x": _as_rows(x),
                "train": np.searchsorted(own, self.train[is_trained]),
                "labels": self.labels[is_trained],
            },
        )

    def said(self, parts: Sequence[Part]) -> str:
        """Return what the partition is like, in words."""
        count = self._nodes.count
        load = max(part.own for part in parts) / -(-count // len(parts))
        copies = sum(len(part.nodes) for part in parts) / max(count, 1)
        return (
            f"{len(parts)} parts: greatest load {load:.2f}, each node in {copies:.2f} of them"
            f" with what {len(parts[0].ends) - 1} layers need"
        )

    def sample(self) -> NDArray[np.float32]:
        """Return the features of two nodes."""
        return _as_rows(self._nodes.take(self._asked.features, np.zeros(2, np.int64)))

    def _labels(self) -> tuple[NDArray[Any], bool]:
        target = self._asked.target
        labels = self._nodes.take(target, self.train)
        if labels.dtype.kind != "i":
            return labels.astype(np.float32), False
        if labels.ndim == 2:
            raise ProgrammingError(f"the target '{target}' is a list of whole numbers")
        if labels.min() < 0:
            at = int(np.argmin(labels))
            (key,) = self._nodes.keys(self.train[at : at + 1]).to_pylist()
            raise DataError(
                f"the target '{target}' of the node {key!r} is {labels[at]}; classes are numbered"
                " from 0"
            )
        return labels, True

    def _feature_width(self) -> int:
        shape = self._nodes.shape(self._asked.features)
        return shape[1] if len(shape) == 2 else 1

    def _partition(self) -> NDArray[np.int32]:
        asked, count = self._asked, self._nodes.count
        if asked.parts == 1:
            return np.zeros(count, np.int32)
        targets = np.repeat(np.arange(count, dtype=np.int32), np.diff(self.starts))
        batches = [(np.asarray(self.sources), targets)]
        question = Question(asked.parts, _BALANCE, _REFINE, asked.seed % 2**32)

        def divide() -> NDArray[np.int32]:
            def tell(step: str, share: float) -> None:
                report(f"divide the graph: {step}", share)

            return partition(Edges(batches, count), question, tell).part

        return beside(divide)


def _training_nodes(graph: Graph, asked: Asked) -> NDArray[np.int64]:
    """Return the numbers of the nodes that are trained on, ascending."""
    nodes = graph.all_nodes[None]
    if asked.train is None:
        found = np.arange(nodes.count)
    elif isinstance(asked.train, str):
        chosen = nodes.take(asked.train, None)
        if chosen.dtype != np.bool_ or chosen.ndim != 1:
            raise ProgrammingError(
                f"train='{asked.train}' is the name of a BOOLEAN column, which is true for nodes"
                " that are trained on"
            )
        found = np.flatnonzero(chosen)
    else:
        found = np.unique(np.asarray(asked.train, np.int64))
        nodes.check(found)
    if not len(found):
        raise ProgrammingError("no node is trained on")
    return found


def _as_rows(values: NDArray[Any]) -> NDArray[np.float32]:
    """Return features of nodes as rows of floats."""
    return values.reshape(len(values), -1).astype(np.float32)
