"""A graph as PyG's loaders read it: features, edges, and a sampler of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch_geometric.data import EdgeAttr, FeatureStore, GraphStore, TensorAttr
from torch_geometric.data.graph_store import EdgeLayout
from torch_geometric.sampler import BaseSampler, HeteroSamplerOutput, NumNeighbors, SamplerOutput
from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample

from raydb.errors import NotSupportedError
from raydb.kernels.graph.loops.sample_loops import Chance, Drawn, Found, sample_sources
from raydb.kernels.graph.loops.sample_loops import Edges as Lists

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.engine.graphs.graph import Edges, EdgeType, Graph, NodeType
    from raydb.engine.graphs.nodes import Nodes


def stores_of(graph: Graph) -> tuple[Features, EdgeLists]:
    """Return what PyG's loaders take for their `data`."""
    return Features(graph), EdgeLists(graph)


class Features(FeatureStore):
    """The features of the nodes of a graph, by (type, name, numbers of nodes)."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.__dict__["_graph"] = graph

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        """Return all features."""
        return [
            TensorAttr(kind, name)
            for kind, nodes in self._graph.all_nodes.items()
            for name in nodes.types
        ]

    def _get_tensor(self, attr: TensorAttr) -> torch.Tensor:
        nodes = self._graph.nodes(attr.group_name)
        numbers = attr.index
        if isinstance(numbers, slice):
            numbers = np.arange(*numbers.indices(nodes.count))
        elif numbers is not None:
            numbers = np.asarray(numbers)
            numbers = np.flatnonzero(numbers) if numbers.dtype == bool else numbers.astype(np.int64)
        return torch.from_numpy(nodes.take(attr.attr_name, numbers))

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...]:
        nodes: Nodes = self._graph.nodes(attr.group_name)
        return nodes.shape(attr.attr_name)

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:  # noqa: ARG002
        raise NotSupportedError("features are read from tables; Graph.write makes a table")

    def _remove_tensor(self, attr: TensorAttr) -> bool:  # noqa: ARG002
        raise NotSupportedError("features are read from tables, and stay there")


class EdgeLists(GraphStore):
    """The edges of a graph, sorted by their targets."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.__dict__["_graph"] = graph

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        """Return all kinds of edges."""
        nodes = self._graph.all_nodes
        return [
            EdgeAttr(
                kind,
                EdgeLayout.CSC,
                size=(nodes[edges.source_type].count, nodes[edges.target_type].count),
            )
            for kind, edges in self._graph.edges.items()
        ]

    def _get_edge_index(self, edge_attr: EdgeAttr) -> tuple[torch.Tensor, torch.Tensor] | None:
        edges = self._graph.edges.get(edge_attr.edge_type)
        if edges is None or edge_attr.layout != EdgeLayout.CSC:
            return None
        return torch.from_numpy(edges.sources.astype(np.int64)), torch.from_numpy(edges.starts)

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:  # noqa: ARG002
        raise NotSupportedError("edges are read from tables")

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:  # noqa: ARG002
        raise NotSupportedError("edges are read from tables, and stay there")


class Sampler(BaseSampler):
    """Draws neighbours hop by hop, each edge with the same chance; of one thread.

    num_neighbors: of each hop, by type of edges where they differ, -1 for all. A batch depends on
    the seeds and on torch's generator alone.
    """

    def __init__(self, graph: Graph, num_neighbors: Any, *, replace: bool = False) -> None:
        self._graph, self._replace = graph, replace
        given = (
            num_neighbors
            if isinstance(num_neighbors, NumNeighbors)
            else NumNeighbors(num_neighbors)
        )
        kinds = list(graph.edges)
        self._is_hetero = kinds != [None]
        most: dict[EdgeType, list[int]] = (
            given.get_values(kinds) if self._is_hetero else {None: given.get_values()}
        )
        self._most, self._hops = most, given.num_hops
        self._local = {
            kind: np.full(nodes.count, -1, np.int32) for kind, nodes in graph.all_nodes.items()
        }
        widest = max((each for counts in most.values() for each in counts), default=0)
        self._drawn = np.full(1 << max(2 * widest, 2).bit_length(), -1, np.int64)

    def sample_from_nodes(self, index: Any, **_: Any) -> Any:
        """Return the neighbourhoods of nodes."""
        return node_sample(index, self._sample)

    def sample_from_edges(self, index: Any, neg_sampling: Any = None) -> Any:
        """Return the neighbourhoods of the ends of edges."""
        counts = {kind: nodes.count for kind, nodes in self._graph.all_nodes.items()}
        count = counts if self._is_hetero else counts[None]
        return edge_sample(index, self._sample, count, False, None, neg_sampling)

    def _sample(self, seed: Any, seed_time: Any = None) -> Any:
        if seed_time is not None:
            raise NotSupportedError("the sampler of a graph knows no times")
        seeds = seed if self._is_hetero else {None: seed}
        state = np.array([torch.randint(2**62, (1,)).item()], np.uint64)
        found = _Sample(
            self._graph,
            {kind: each.numpy() for kind, each in seeds.items()},
            self._local,
            Chance(state, self._drawn, 0, self._replace),
        )
        try:
            found.begin()
            for hop in range(self._hops):
                found.hop({kind: counts[hop] for kind, counts in self._most.items()})
        finally:
            found.end()
        return found.output(is_hetero=self._is_hetero)


class _Sample:
    """What is drawn for some seeds: nodes by type, those of each hop behind the ones before.

    local: by the number of a node its place among those of its type, -1 for none. chance: how
    edges are drawn, but for how many.
    """

    def __init__(
        self,
        graph: Graph,
        seeds: dict[NodeType, NDArray[np.int64]],
        local: dict[NodeType, NDArray[np.int32]],
        chance: Chance,
    ) -> None:
        self._graph, self._local, self._chance = graph, local, chance
        empty = np.empty(0, np.int64)
        for kind, nodes in seeds.items():
            graph.nodes(kind).check(nodes)
        self._nodes = {kind: seeds.get(kind, empty) for kind in graph.all_nodes}
        self._first = dict.fromkeys(graph.all_nodes, 0)
        self._node_counts = {kind: [len(each)] for kind, each in self._nodes.items()}
        self._parts: dict[EdgeType, list[tuple[NDArray[np.int64], ...]]] = {
            kind: [] for kind in graph.edges
        }

    def begin(self) -> None:
        """Give the seeds their places."""
        for kind, nodes in self._nodes.items():
            self._local[kind][nodes] = np.arange(len(nodes), dtype=np.int32)

    def end(self) -> None:
        """Leave the places as they were."""
        for kind, nodes in self._nodes.items():
            self._local[kind][nodes] = -1

    def hop(self, most: dict[EdgeType, int]) -> None:
        """Draw edges into the nodes of the last hop."""
        last = {kind: len(nodes) for kind, nodes in self._nodes.items()}
        for kind, edges in self._graph.edges.items():
            first = self._first[edges.target_type]
            frontier = self._nodes[edges.target_type][first : last[edges.target_type]]
            drawn = self._draw(edges, frontier, first, most[kind])
            self._parts[kind].append(drawn)
        self._first = last
        for node_type, nodes in self._nodes.items():
            self._node_counts[node_type].append(len(nodes) - last[node_type])

    def _draw(
        self, edges: Edges, frontier: NDArray[np.int64], first: int, most: int
    ) -> tuple[NDArray[np.int64], ...]:
        chance = self._chance._replace(most=most)
        degree = edges.starts[frontier + 1] - edges.starts[frontier]
        if most >= 0:
            degree = (degree > 0) * most if chance.replace else np.minimum(degree, most)
        room = int(degree.sum())
        before = self._nodes[edges.source_type]
        nodes = np.empty(len(before) + room, np.int64)
        nodes[: len(before)] = before
        out = Drawn(*(np.empty(room, np.int64) for _ in range(3)))
        count, drawn_count = sample_sources(
            Lists(edges.starts, edges.sources), frontier, first,
            chance, Found(nodes, self._local[edges.source_type]), len(before), out,
        )  # fmt: skip
        self._nodes[edges.source_type] = nodes[:count]
        return tuple(each[:drawn_count] for each in out)

    def output(self, *, is_hetero: bool) -> Any:
        """Return all as PyG wants it."""
        parts = {kind: list(zip(*each, strict=True)) for kind, each in self._parts.items()}
        row, col, edge = (
            {kind: _tensor(np.concatenate(each[place])) if each else _tensor(np.empty(0, np.int64))
             for kind, each in parts.items()}
            for place in range(3)
        )  # fmt: skip
        node = {kind: _tensor(nodes) for kind, nodes in self._nodes.items()}
        edge_counts = {kind: [len(each[0]) for each in some] for kind, some in self._parts.items()}
        if is_hetero:
            return HeteroSamplerOutput(node, row, col, edge, None, self._node_counts, edge_counts)
        return SamplerOutput(
            node[None], row[None], col[None], edge[None], None,
            self._node_counts[None], edge_counts[None],
        )  # fmt: skip


def _tensor(values: NDArray[np.int64]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values))
