"""A graph of tables: its nodes are numbered, its edges kept by target, features read by number.

    graph = con.graph(nodes="paper", edges="cites")
    graph = con.graph(
        nodes={"paper": "paper", "author": "SELECT id, x FROM person WHERE writes"},
        edges={("author", "writes", "paper"): "SELECT author, paper FROM wrote"},
    )

The first column of nodes is their key, the others are features; the first two columns of edges are
the keys where they begin and end. All rows are those of one moment. Where nodes are of one kind it
has no name, as in PyG.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.api.transaction import whole
from raydb.engine.context.memory import parse_limit
from raydb.engine.graphs.nodes import Nodes
from raydb.engine.graphs.room import Room
from raydb.engine.session.settings import MEMORY_LIMIT, TEMP_DIRECTORY
from raydb.engine.statements.row_checks import table_of
from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.kernels.graph.loops.sample_loops import place_sources
from raydb.kernels.graph.numbering import MOST_VALUES, Numbers, is_numbered
from raydb.keywords import quoted
from raydb.names import find_object
from raydb.storage.enums import stored_table
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.api.connection import Connection
    from raydb.storage.tables.table import Table

    NodeType = str | None
    EdgeType = tuple[str, str, str] | None


@dataclass(frozen=True, eq=False, slots=True)
class Edges:
    """Edges by the node that they lead into.

    starts: shape (targets + 1,), int64; those into node n are starts[n] to starts[n + 1] of
    sources: shape (edges,), int32.
    """

    source_type: NodeType
    target_type: NodeType
    starts: NDArray[np.int64]
    sources: NDArray[np.int32]


class Graph:
    """The nodes and edges of some tables, as they were when it was made.

    `all_nodes` and `edges` are by type. Raises ProgrammingError for types that do not fit together,
    DataError for keys that are NULL or there twice and for edges to no node.
    """

    def __init__(
        self,
        connection: Connection,
        nodes: str | Mapping[str, str],
        edges: str | Mapping[tuple[str, str, str], str],
    ) -> None:
        self._connection = connection
        self._numbers: dict[NodeType, Numbers] = {}
        self.all_nodes: dict[NodeType, Nodes] = {}
        self.edges: dict[EdgeType, Edges] = {}
        node_texts, edge_texts = _by_type(nodes, edges)
        with connection._lock, whole(connection):  # noqa: SLF001
            settings = connection._open_session().settings  # noqa: SLF001
            self._room = Room(parse_limit(settings[MEMORY_LIMIT]), settings[TEMP_DIRECTORY])
            for kind, text in node_texts.items():
                self._add_nodes(kind, text)
            for ends, text in edge_texts.items():
                self._add_edges(ends, text)

    @property
    def data(self) -> tuple[Any, Any]:
        """The graph as PyG's loaders take it: its FeatureStore and its GraphStore.

        Raises NotSupportedError without PyG.
        """
        features, edges = _pyg().stores_of(self)
        return features, edges

    def sampler(self, num_neighbors: Any, *, replace: bool = False) -> Any:
        """Return a sampler for the `neighbor_sampler` of PyG's loaders, which needs no pyg-lib.

        num_neighbors: of each hop, as PyG's loaders take them. Seeds come from torch's generator.
        """
        return _pyg().Sampler(self, num_neighbors, replace=replace)

    def nodes(self, kind: NodeType = None) -> Nodes:
        """Return the nodes of a kind. Raises ProgrammingError where there are none."""
        if kind not in self.all_nodes:
            known = ", ".join(f"'{each}'" for each in self.all_nodes)
            raise ProgrammingError(f"the graph has no nodes '{kind}'; it has {known}")
        return self.all_nodes[kind]

    def numbers(self, keys: Sequence[Any], node_type: str | None = None) -> NDArray[np.int64]:
        """Return the numbers of nodes by their keys. Raises DataError for a key that none has."""
        nodes = self.nodes(node_type)
        found = self._find(node_type, pa.array(keys), "the keys")
        if len(found) and found.min() < 0:
            key = keys[int(np.argmax(found < 0))]
            raise DataError(f"{nodes.called} have no {key!r}")
        return found.astype(np.int64)

    def keys(self, numbers: Any, node_type: str | None = None) -> pa.ChunkedArray:
        """Return the keys of nodes by their numbers, as in `n_id` of a batch."""
        return self.nodes(node_type).keys(np.asarray(numbers, np.int64))

    def write(
        self,
        table: str,
        numbers: Any,
        values: Any,
        node_type: str | None = None,
        *,
        replace: bool = False,
    ) -> None:
        """Make a table of the keys of nodes and a `prediction` for each.

        numbers: shape (n,). values: shape (n,) or (n, width), a tensor or an array. Raises
        ProgrammingError for shapes that do not fit, and for a table that exists unless `replace`.
        """
        nodes = self.nodes(node_type)
        numbers = np.asarray(numbers, np.int64)
        predicted = values.detach().cpu().numpy() if hasattr(values, "detach") else values
        predicted = np.asarray(predicted)
        if numbers.ndim != 1 or predicted.ndim not in (1, 2) or len(numbers) != len(predicted):
            raise ProgrammingError(
                f"predictions have the shape {predicted.shape} and their nodes {numbers.shape};"
                " there is one row for each node"
            )
        column = pa.array(predicted.ravel())
        if predicted.ndim == 2:
            column = pa.FixedSizeListArray.from_arrays(column, predicted.shape[1])
        rows = pa.table({nodes.key.name: nodes.keys(numbers), "prediction": column})
        made = "CREATE OR REPLACE TABLE" if replace else "CREATE TABLE"
        self._connection._run_on(  # noqa: SLF001
            f"{made} {quoted(table)} AS FROM {quoted(_ROWS)}", _ROWS, rows
        )

    # -- reading tables

    def _add_nodes(self, kind: NodeType, text: str) -> None:
        called = f"the nodes '{kind or text}'"
        table = self._table(text)
        if not len(table.definition.schema):
            raise ProgrammingError(f"{called} have no column")
        nodes = self.all_nodes[kind] = Nodes(table, called, self._room)
        key = nodes.key
        if not is_numbered(key.type):
            raise NotSupportedError(
                f"the key '{key.name}' of {called} is {sql_type_name(key.type)}, and nodes of that"
                " type are not supported"
            )
        numbers = self._numbers[kind] = Numbers(key.type)
        for start in range(0, nodes.count, _STEP):
            some = np.arange(start, min(start + _STEP, nodes.count))
            for values in nodes.keys(some).chunks:
                if values.null_count:
                    raise DataError(f"the key '{key.name}' of {called} is NULL in a row")
                before = numbers.count
                found = _number(numbers, values, called)
                fresh = before + np.arange(len(found))
                if numbers.count != before + len(found) or (found != fresh).any():
                    at = int(np.argmax(found != fresh))
                    raise DataError(f"{called} have the key {values[at].as_py()!r} twice")

    def _add_edges(self, kind: EdgeType, text: str) -> None:
        source_type, target_type = (None, None) if kind is None else (kind[0], kind[2])
        called = f"the edges '{text if kind is None else kind[1]}'"
        batches = []
        degree = np.zeros(self.all_nodes[target_type].count, np.int64)
        with self._connection.stream(_query(text)) as reader:
            if len(reader.schema) < 2:
                raise ProgrammingError(f"{called} need two columns, where each begins and ends")
            for batch in reader:
                source = self._ends(source_type, batch, 0, called)
                target = self._ends(target_type, batch, 1, called)
                degree += np.bincount(target, minlength=len(degree))
                batches.append((self._room.kept(source), self._room.kept(target)))
        starts = np.zeros(len(degree) + 1, np.int64)
        np.cumsum(degree, out=starts[1:])
        sources = self._room.new(int(starts[-1]), np.int32)
        place = starts[:-1].copy()
        for source, target in batches:
            place_sources(source, target, place, sources)
        self.edges[kind] = Edges(source_type, target_type, starts, sources)

    def _ends(
        self, kind: NodeType, batch: pa.RecordBatch, place: int, called: str
    ) -> NDArray[np.int32]:
        values = batch.column(place)
        if values.null_count:
            raise DataError(f"an end of {called} is NULL; leave such rows out")
        found = self._find(kind, values, called)
        if len(found) and found.min() < 0:
            at = int(np.argmax(found < 0))
            ends = [batch.column(each)[at].as_py() for each in range(2)]
            raise DataError(
                f"an edge of {called} is from {ends[0]!r} to {ends[1]!r}, and"
                f" {self.all_nodes[kind].called} have no {ends[place]!r}"
            )
        return found

    def _find(self, kind: NodeType, values: pa.Array, called: str) -> NDArray[np.int32]:
        """Return the numbers of keys, -1 for those that no node has."""
        numbers, nodes = self._numbers[kind], self.all_nodes[kind]
        try:
            cast = values.cast(numbers.kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"{called} have {sql_type_name(values.type)}, which cannot be compared with the"
                f" key '{nodes.key.name}' of {nodes.called},"
                f" {sql_type_name(numbers.kind)}: {error}"
            ) from None
        return numbers.of(cast, may_add=False)

    def _table(self, text: str) -> Table:
        """Return the rows of a table's name, or of a query, a view or whatever FROM takes."""
        snapshot = self._connection._open_session().database.snapshot  # noqa: SLF001
        name = find_object(text, snapshot.tables, "table")
        if name is not None:
            return snapshot.tables[name]
        rows = self._connection.execute(_query(text)).to_arrow_table()
        return table_of("nodes", stored_table(rows))


# What predictions are called while they are written.
_ROWS = "rows of the graph"
# So many keys are numbered at once.
_STEP = 1 << 20


def _by_type(
    nodes: str | Mapping[str, str], edges: str | Mapping[tuple[str, str, str], str]
) -> tuple[dict[NodeType, str], dict[EdgeType, str]]:
    if isinstance(nodes, str) != isinstance(edges, str):
        raise ProgrammingError(
            "nodes and edges are both a table or a query, or both a dict of them"
        )
    if isinstance(nodes, str):
        assert isinstance(edges, str)
        return {None: nodes}, {None: edges}
    assert not isinstance(edges, str)
    for kind in edges:
        if not (isinstance(kind, tuple) and len(kind) == 3):
            raise ProgrammingError(
                f"edges are by ('author', 'writes', 'paper') or the like, not {kind!r}"
            )
        for end in (kind[0], kind[2]):
            if end not in nodes:
                raise ProgrammingError(f"the edges {kind!r} have ends '{end}', and no nodes do")
    return dict[Any, str](nodes), dict[Any, str](edges)


def _query(text: str) -> str:
    """Return a query for what a text names, which may be one already."""
    return text if any(each.isspace() for each in text.strip()) else f"FROM {text}"


def _number(numbers: Numbers, values: pa.Array, called: str) -> NDArray[np.int32]:
    try:
        return numbers.of(values)
    except OverflowError:
        raise NotSupportedError(f"{called} are more than {MOST_VALUES}") from None


def _pyg() -> Any:
    try:
        from raydb.engine.graphs import pyg  # noqa: PLC0415  (an extra, which takes a second)
    except ImportError as error:
        raise NotSupportedError(
            f"a graph for PyG needs torch and torch-geometric: pip install 'raydb[gnn]' ({error})"
        ) from None
    return pyg
