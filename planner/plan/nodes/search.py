"""VectorSearch and MotifSearch, which search the rows of one plan for each row of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, interval_text
from raydb.planner.expressions.nodes import Literal as Constant
from raydb.planner.expressions.nodes import columns_of
from raydb.planner.expressions.show import show
from raydb.planner.plan.nodes.node import Node, read_by
from raydb.planner.plan.nodes.values import Values
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.kernels.motif.shape import Motif
    from raydb.kernels.vector.exact_search import Metric
    from raydb.kernels.vector.ivf import Ivf
    from raydb.kernels.vector.stop_rule import Score
    from raydb.planner.catalog import CalibrationInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.nodes.project import Project
    from raydb.planner.plan.statistics import Statistics

Pairs: TypeAlias = "tuple[tuple[Column, Column], ...]"


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How many rows vector_search() is to find, and how; what is None is for the index to say.

    nprobe: how many lists of an index to scan. exact: whether to compare all rows. fnr: the share
    of the k nearest rows that may be missed, by a calibration with `score`.
    """

    k: int
    nprobe: int | None
    exact: bool
    metric: str | None
    fnr: float | None = None
    score: Score | None = None


@dataclass(frozen=True, slots=True)
class VectorSearch(Node):
    """Each left row with the k right rows whose vectors are nearest to its `query`, in order.

    vector: a column of the right plan, FLOAT[n] as the query. found: the columns rank, distance,
    probes and guarantee. Left rows whose query is NULL have no partner and are left out; with
    `keep`, left rows without a partner stay, with NULLs. pairs: a left column and a right one each;
    only right rows that have a left row's values there are searched for it, NULL being a value.
    """

    source_fields = ("left", "right")
    expression_fields = ("query",)

    left: Plan
    right: Plan
    query: Expression
    vector: Column
    options: SearchOptions
    found: tuple[Column, ...]
    keep: bool = False
    pairs: Pairs = ()

    @property
    def defined(self) -> tuple[Column, ...]:
        return self.found

    @property
    def required_columns(self) -> frozenset[Column]:
        pairs = (column for pair in self.pairs for column in pair)
        return columns_of(self.query).union(pairs, (self.vector,))

    def estimate(self, statistics: Statistics) -> float:
        return statistics.row_count(self.left) * self.options.k


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An index that a vector search uses: its name, its arrays, and how many lists to scan.

    calibrated: what says when to stop instead, for a search with a promise.
    """

    name: str
    arrays: Ivf
    nprobe: int
    calibrated: CalibrationInfo | None = None


@dataclass(frozen=True, slots=True)
class NearestRows(Node):
    """Each row of `queries` with the k rows of `source` nearest to its `query`; see `VectorSearch`.

    A table is searched by row numbers, and what is asked of its columns is read for the rows that
    are found. `selection` gives in its one column the numbers of the rows that count, None for
    all. `index` is None where all rows are compared; `reason` says why, or which index it is.
    keep: whether a row that finds nothing stays, with NULLs. note: which argument has no effect.
    pairs: columns of both sides that are equal, or both NULL, where a row is searched for another.
    """

    explain_name = "NearestRows"
    source_fields = ("queries", "source")

    queries: Plan
    query: Expression
    source: Plan
    vector: Column
    selection: Project | None
    k: int
    metric: Metric
    exact: bool
    index: VectorIndex | None
    reason: str
    found: tuple[Column, ...]
    keep: bool = False
    note: str = ""
    pairs: Pairs = ()

    @property
    def children(self) -> tuple[Plan, ...]:
        return (self.queries, self.source if self.selection is None else self.selection)

    @property
    def defined(self) -> tuple[Column, ...]:
        return self.found

    @property
    def summary(self) -> str:
        # A constant vector is long.
        is_constant = isinstance(self.query, Constant)
        query = sql_type_name(self.query.type) if is_constant else show(self.query)
        return f"{self.k} nearest to {query} by {self.metric}"

    @property
    def details(self) -> dict[str, Any]:
        return {"search": self.reason, **({"note": self.note} if self.note else {})}


@dataclass(frozen=True, slots=True)
class MotifQuestion:
    """What motif_count() and motif_sample() ask of a temporal graph.

    names: of the motif's vertices. delta: the longest time from the first edge of an instance to
    the last, in units of the times. rel_error, confidence: when an estimate is good enough.
    sample_count: how many instances to sample, None to count them.
    """

    motif: Motif
    names: tuple[str, ...]
    delta: int
    ties: Literal["strict", "index"]
    method: Literal["auto", "exact", "timest"]
    rel_error: float
    confidence: float
    seed: int
    max_seconds: float
    sample_count: int | None = None

    @property
    def function(self) -> str:
        """The name of the table function."""
        return "motif_count" if self.sample_count is None else "motif_sample"


@dataclass(frozen=True, slots=True)
class MotifSearch(Node):
    """Each left row with a count or a sample of a motif in the graph whose edges are right rows.

    ends: the vertices that an edge leads from and to, of one type. time: of an edge. given: the
    arguments of the question that stand open, by name, over the left rows; where one of them is
    NULL a left row is left out. found: what the function gives; none of the right ones.

    pairs: a left column and a right one each; the edges for a left row are the right rows that have
    its values there, all of them without pairs. place: a right column that edges are in the order
    of, where they are not in that of the rows. notes: what there is to say of the arguments.
    """

    source_fields = ("left", "right")
    expression_fields = ("ends", "time")
    definition_fields = ("given",)

    left: Plan
    right: Plan
    ends: tuple[Expression, Expression]
    time: Expression
    question: MotifQuestion
    given: tuple[tuple[str, Expression], ...]
    found: tuple[Column, ...]
    pairs: Pairs = ()
    place: Column | None = None
    notes: tuple[str, ...] = ()

    @property
    def defined(self) -> tuple[Column, ...]:
        return self.found

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.left.columns, *self.found)

    @property
    def required_columns(self) -> frozenset[Column]:
        pairs = (column for pair in self.pairs for column in pair)
        place = () if self.place is None else (self.place,)
        return read_by(self.expressions).union(pairs, place)

    def estimate(self, statistics: Statistics) -> float:
        return statistics.row_count(self.left) * float(self.question.sample_count or 1)


@dataclass(frozen=True, slots=True)
class MotifRows(Node):
    """Each row of `queries` with a count or a sample of motifs among the source's rows.

    See `MotifSearch`. The graph of the rows is kept with `table` by its `identity`: the
    vertices, the time and the predicates over the table's attributes. Without a table it is built
    for this search alone, and where there are pairs for each row with other values in them.
    """

    explain_name = "MotifRows"
    source_fields = ("queries", "source")

    queries: Plan
    source: Plan
    ends: tuple[Expression, Expression]
    time: Expression
    question: MotifQuestion
    given: tuple[tuple[str, Expression], ...]
    pairs: Pairs
    place: Column | None
    table: str
    identity: tuple[Expression, ...]
    found: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    @property
    def children(self) -> tuple[Plan, ...]:
        is_alone = isinstance(self.queries, Values) and not self.queries.columns
        return (self.source,) if is_alone else (self.queries, self.source)

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.queries.columns, *self.found)

    @property
    def defined(self) -> tuple[Column, ...]:
        return self.found

    @property
    def summary(self) -> str:
        asked, given = self.question, self._given
        sample_count = given.get("n", asked.sample_count)
        what = "count" if asked.sample_count is None else _samples(sample_count)
        return f"{what} of {given.get('motif', motif_text(asked.motif, asked.names))}"

    @property
    def details(self) -> dict[str, Any]:
        asked, given = self.question, self._given
        methods = {
            "auto": "exact while its steps last, else timest",
            "exact": "exact",
            "timest": "timest",
        }
        method = given.get("method", methods[asked.method])
        if asked.method != "exact" and asked.sample_count is None:
            rel_error = given.get("rel_error", f"{asked.rel_error:g}")
            confidence = given.get("confidence", f"{asked.confidence:g}")
            method += f" to {rel_error} with confidence {confidence}"
        seconds = given.get("max_seconds", f"{asked.max_seconds:g}")
        return {
            **({"note": "; ".join(self.notes)} if self.notes else {}),
            "within": given.get("delta", _duration(asked.delta, self.time.type)),
            "ties": given.get("ties", asked.ties),
            "method": f"{method}, in {seconds} seconds",
        }

    @property
    def _given(self) -> dict[str, str]:
        """What differs by row, as it is computed."""
        return {name: show(expression) for name, expression in self.given}


def _samples(count: int | str | None) -> str:
    return f"{count} sample{'' if count == 1 else 's'}"


def motif_text(motif: Motif, names: Sequence[str]) -> str:
    """Return a motif as it is written.

    >>> motif_text(Motif(3, ((0, 1), (1, 2), (2, 0)), (0, 1, 1)), ("a", "b", "c"))
    'a->b, {b->c, c->a}'
    """
    parts = []
    for group in range(motif.groups[-1] + 1):
        edges = [e for e, number in zip(motif.edges, motif.groups, strict=True) if number == group]
        text = ", ".join(f"{names[source]}->{names[target]}" for source, target in edges)
        parts.append(text if len(edges) == 1 else "{" + text + "}")
    return ", ".join(parts)


def _duration(delta: int, kind: pa.DataType) -> str:
    """Return a time between two edges in words."""
    if not pa.types.is_timestamp(kind):
        return str(delta) if pa.types.is_integer(kind) else f"{delta} days"
    days, microseconds = divmod(delta, DAY_MICROSECONDS)
    if days >= 2**31:
        return f"{days} days"
    return str(interval_text(pa.MonthDayNano([0, days, microseconds * 1000])))
