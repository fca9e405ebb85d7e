"""partition_graph(edges, k => 8, ...) and partition_stats(edges, ...): a graph cut into k parts.

    FROM partition_graph((SELECT src, dst FROM edges), k => 8, balance => 1.05, refine => 10)
    FROM partition_stats(edges, parts => (SELECT node, part FROM parts))
    FROM days d, LATERAL partition_graph((SELECT src, dst FROM e WHERE e.day = d.day), k => 4)

The rows are edges, whose two columns are their ends. `nodes` has more nodes, and then all; `parts`
has nodes with their parts. What a search reads are these rows one after the other:

    kind   node   other   part
    1      7      NULL    NULL      a node of `nodes`
    2      8      NULL    3         a row of `parts`
    0      7      8       NULL      an edge
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.planner.expressions.nodes import Literal
from raydb.planner.expressions.show import show
from raydb.planner.expressions.types import is_integer, is_interval, is_number
from raydb.planner.expressions.typing_rules import cast, unify
from raydb.planner.plan.function_arguments import FLAG, ROWS, Argument, Kind, whole
from raydb.planner.plan.nodes import Project, Search, Union
from raydb.planner.plan.table_function import ONE_ROW, SearchFunction
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.engine.operators.relation import Relation
    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import Plan, SearchRows
    from raydb.planner.plan.table_function import FunctionCall

EDGE, NODE, PLACED = range(3)
"""Kinds of rows."""

_INFINITY = float("inf")

_BALANCE = Kind(
    "a number",
    is_number,
    lambda value: not isinstance(value, bool | str) and 1 <= float(value) < _INFINITY,
    lambda _: "a number from 1",
    float,
)

PARTITION_ARGUMENTS = (
    Argument("k", whole(1, 2**31), varies=True),
    Argument("balance", _BALANCE, 1.05, varies=True),
    Argument("refine", whole(0, 2**31), 10, varies=True),
    Argument("seed", whole(0, 2**32), 1, varies=True),
    Argument("nodes", ROWS),
)
"""What a partition is like."""

STATS_ARGUMENTS = (
    Argument("directed", FLAG, False, varies=True),
    Argument("parts", ROWS),
)
"""How parts are judged, and which."""

# What `parts` says already.
_OF_PARTITIONS = ("k", "balance", "refine", "seed", "nodes")

STATS_COLUMNS = (
    *((name, pa.int64()) for name in ("part", "nodes", "copies", "edges", "cut_edges")),
    *((name, pa.float64()) for name in ("load", "replication_factor", "greatest_load")),
    ("edges_cut", pa.int64()),
)

# How many rows an answer is taken to have by a plan that has nothing better to go by.
_NODES = 10_000.0


@dataclass(frozen=True, slots=True)
class Options:
    """What a call says that is the same for all rows.

    values: arguments, by name. texts: those that were given, as they were written. tables: the
    names of those that are rows. names: of the columns of edges.
    """

    values: tuple[tuple[str, Any], ...]
    texts: tuple[tuple[str, str], ...]
    tables: tuple[str, ...]
    names: tuple[str, ...]


class PartitionFunction(SearchFunction):
    """partition_graph() or partition_stats()."""

    explain_name = "PartitionRows"
    star_reason = "it aggregates over a partition of a graph"
    usage = (
        "a table, a file or a query in parentheses with the two ends of each edge; what follows is "
        "named, such as k => 8"
    )

    def __init__(self, name: str, *more: Argument) -> None:
        self.name = name
        self.arguments = (*PARTITION_ARGUMENTS, *more)

    def bind(self, call: FunctionCall) -> Search:
        assert call.rows is not None
        for name, expression in call.varying.items():
            self.argument(name).check_type(expression, self.name)
        self._check_given(call)
        known = [each.name for each in self.arguments if each.kind is not ROWS]
        values = tuple((name, call.value(name)) for name in known if name not in call.varying)
        ends = self._ends(call)
        plan, read = call.rows, tuple(ends[EDGE])
        if call.tables:
            plan = _all_rows(call, ends)
            read = plan.columns
        columns: Sequence[tuple[str, pa.DataType]] = STATS_COLUMNS
        if self.name == "partition_graph":
            columns = (("node", ends[EDGE][0].type), ("part", pa.int64()), ("cluster", pa.int64()))
        found = tuple(call.new_column(name, kind) for name, kind in columns)
        texts = tuple((name, show(each)) for name, each in call.constants.items())
        names = tuple(column.name for column in call.rows.columns)
        options = Options(values, texts, tuple(call.tables), names)
        return Search(self, ONE_ROW, plan, tuple(call.varying.items()), read, options, found)

    def _check_given(self, call: FunctionCall) -> None:
        given = {*call.constants, *call.varying, *call.tables}
        if "parts" not in call.tables:
            if "k" not in given:
                or_parts = " or parts =>" if self.name == "partition_stats" else ""
                raise ProgrammingError(f"{self.name}() needs k =>{or_parts}")
            return
        beside = [name for name in _OF_PARTITIONS if name in given]
        if beside:
            raise ProgrammingError(
                f"{self.name}() takes no {beside[0]} beside parts, which say where each node is"
            )

    def _ends(self, call: FunctionCall) -> dict[int, Sequence[Expression]]:
        """Return what is read of edges, nodes and parts, all nodes in one type."""
        assert call.rows is not None
        edges = call.rows.columns
        if len(edges) != 2:
            raise ProgrammingError(
                f"the edges of {self.name}() have two columns, where each begins and ends, not "
                f"{len(edges)}"
            )
        given: list[Column] = list(edges)
        nodes, parts = (call.tables.get(name) for name in ("nodes", "parts"))
        if nodes is not None and len(nodes.columns) != 1:
            raise ProgrammingError(
                f"nodes of {self.name}() have one column, not {len(nodes.columns)}"
            )
        if parts is not None and len(parts.columns) != 2:
            raise ProgrammingError(
                f"parts of {self.name}() have two columns, a node and its part, not "
                f"{len(parts.columns)}"
            )
        given += [each.columns[0] for each in (nodes, parts) if each is not None]
        for column in given:
            if pa.types.is_nested(column.type) or is_interval(column.type):
                raise NotSupportedError(
                    f"column '{column.name}' of {self.name}() is {sql_type_name(column.type)}, and "
                    "nodes of that type are not supported"
                )
        try:
            source, target, *others = unify(given, "compare")
        except ProgrammingError as error:
            raise ProgrammingError(f"the nodes of {self.name}(): {error.sentence}") from None
        found: dict[int, Sequence[Expression]] = {EDGE: (source, target)}
        if nodes is not None:
            found[NODE] = (others[0],)
        if parts is not None:
            part = parts.columns[1]
            if not is_integer(part.type):
                raise ProgrammingError(
                    f"column '{part.name}' of parts of {self.name}() is "
                    f"{sql_type_name(part.type)}; parts are whole numbers"
                )
            found[PLACED] = (others[-1], cast(part, pa.int64()))
        return found

    def values(self, plan: SearchRows, given: Sequence[Any]) -> Mapping[str, Any] | None:
        """Return the arguments of a row that asks, None where one of its own is NULL.

        Raises DataError for a value that an argument cannot have.
        """
        options: Options = plan.options
        values = dict(options.values)
        for (name, expression), value in zip(plan.given, given, strict=True):
            if value is None:
                return None
            literal = Literal(value, expression.type)
            try:
                values[name] = self.argument(name).value_of(literal, self.name, self.shown(literal))
            except ProgrammingError as error:
                raise DataError(error.sentence) from error
        return values

    def rows_per_row(self, plan: Search) -> float:
        values = dict(plan.options.values)
        return _NODES if self.name == "partition_graph" else float(values.get("k") or 8)

    def sees_order(self, plan: Search) -> bool:
        # Clusters depend on the order in which edges come.
        return True

    def run(self, plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
        from raydb.engine.table_functions.graph.partition_rows import partition_rows  # noqa: PLC0415  (few)

        return partition_rows(self, plan, columns, sources)

    def stream(
        self, plan: SearchRows, columns: Sequence[Column], sources: Sources
    ) -> Iterator[Relation]:
        from raydb.engine.table_functions.graph.partition_rows import partition_blocks  # noqa: PLC0415  (few)

        return partition_blocks(self, plan, columns, sources)

    def summary(self, plan: SearchRows) -> str:
        options: Options = plan.options
        what = "partition" if self.name == "partition_graph" else "parts"
        beside = "".join(f", {name}" for name in options.tables)
        return f"{what} of {' - '.join(options.names)}{beside}"

    def details(self, plan: SearchRows) -> dict[str, Any]:
        options: Options = plan.options
        shown = {name: f"{value}".lower() for name, value in options.values if value is not None}
        if "parts" in options.tables:
            shown = {name: text for name, text in shown.items() if name not in _OF_PARTITIONS}
        given = {name: show(each) for name, each in plan.given}
        return {**shown, **dict(options.texts), **given}


def _all_rows(call: FunctionCall, ends: Mapping[int, Sequence[Expression]]) -> Plan:
    """Return all rows of a call one below the other: nodes, parts, and then edges."""
    assert call.rows is not None
    sources = {EDGE: call.rows, NODE: call.tables.get("nodes"), PLACED: call.tables.get("parts")}
    node = ends[EDGE][0].type
    types = (pa.int8(), node, node, pa.int64())
    below = []
    for kind in (NODE, PLACED, EDGE):
        source = sources[kind]
        if source is None:
            continue
        first, *others = ends[kind]
        is_edge = kind == EDGE
        items = (
            Literal(kind, types[0]),
            first,
            others[0] if is_edge else Literal(None, node),
            others[0] if kind == PLACED else Literal(None, types[3]),
        )
        columns = _new_columns(call, types)
        below.append(Project(source, tuple(zip(columns, items, strict=True))))
    return Union(tuple(below), _new_columns(call, types))


def _new_columns(call: FunctionCall, types: Sequence[pa.DataType]) -> tuple[Column, ...]:
    names = ("kind", "node", "other", "part")
    return tuple(call.new_column(name, kind) for name, kind in zip(names, types, strict=True))


PARTITION_FUNCTIONS = (
    PartitionFunction("partition_graph"),
    PartitionFunction("partition_stats", *STATS_ARGUMENTS),
)
