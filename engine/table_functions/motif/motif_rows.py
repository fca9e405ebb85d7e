"""motif_count() and motif_sample() in a plan: a search for each row of other tables that asks one.

    queries            motif       delta         edges
    'ann', 'cycle'     cycle(3)    1 day    ->   one graph for all rows, kept with its table,
    'bob', 'chain'     path(4)     2 days        or one for each row that has edges of its own

Without other tables there is one row, which asks what is written in the call.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from raydb.engine.operators.join.keys import encode_keys
from raydb.engine.operators.relation import Relation, concatenate, joined
from raydb.engine.table_functions.motif.graph_cache import is_graph_kept, kept_graph, make_graph
from raydb.engine.table_functions.motif.motif_question import question_of_row
from raydb.engine.table_functions.motif.motif_search import Clock, search_motif
from raydb.interrupts import check_interrupt
from raydb.planner.expressions.casts.casts import literal_value
from raydb.planner.expressions.nodes import Column, Literal
from raydb.planner.plan.nodes import MotifRows, PhysicalPlan
from raydb.planner.plan.table_function import TABLE_FUNCTIONS, SearchFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.fused.derived_cache import DerivedCache
    from raydb.engine.table_functions.motif.graph_cache import EdgeGraph
    from raydb.engine.table_functions.motif.motif_search import FoundMotifs
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import MotifQuestion
    from raydb.storage.tables.table import Table

    Values: TypeAlias = pa.ChunkedArray | pa.Array
    # Runs a plan: some of its columns, and the values of expressions over all of them.
    RunWith = Callable[
        [PhysicalPlan, Sequence[Column], Sequence[Expression]], tuple[Relation, list[Values]]
    ]

# What the order of an edge and its code take, where each row has edges of its own.
_EDGE_BYTES = 40


# What a value of an answer takes: a text of some letters, or a number in an array of its own.
_ANSWER_BYTES = 24


class MotifAnswers(NamedTuple):
    """Rows, what there is to say beside them, and how the searches went, for EXPLAIN."""

    rows: Relation
    told: list[str]
    how: str


def motif_rows(
    plan: MotifRows,
    columns: Sequence[Column],
    of_queries: Sequence[Column],
    run_with: RunWith,
    tables: Mapping[str, Table],
    cache: DerivedCache | None,
    memory: Memory,
) -> MotifAnswers:
    """Return some columns of each row that asks with those of its answer, in the rows' order.

    Raises OperationalError where time or memory is too small, and DataError for an argument's value
    in a row that the argument cannot have, and for times that 64 bits cannot hold.
    """
    carried = [column for column in of_queries if column in columns]
    keys = [ours for ours, _ in plan.pairs]
    needed = list(dict.fromkeys((*carried, *keys)))
    queries, values = run_with(plan.queries, needed, [expression for _, expression in plan.given])
    questions = _questions(plan, values, queries.row_count)
    graphs: _OneGraph | _GraphsByRow = _OneGraph(plan, run_with, tables, cache, memory)
    order: Sequence[int] = range(queries.row_count)
    if plan.pairs and queries.row_count:
        graphs = _GraphsByRow(plan, queries, run_with, memory)
        order = graphs.order
    found: dict[int, FoundMotifs] = {}
    built, row_count = "", 0
    for number, row in enumerate(order, 1):
        check_interrupt()
        asked = questions[row]
        if asked is None:
            continue
        count = "" if len(order) == 1 else f" {number} of {len(order)}"
        clock = Clock.starting(asked.function + count, asked.max_seconds)
        clock.make_ready("graph")
        edges, is_new = graphs.of_row(row)
        if is_new and not built:
            built = f", graph built in {clock.passed * 1000:.3f} ms"
        found[row] = search_motif(asked, plan.found, edges, clock, memory)
        row_count += found[row].rows.row_count
        need = _ANSWER_BYTES * row_count * len(plan.found)
        memory.check(need, f"the answers of {asked.function}() for {number} rows")
    numbers = [row for row in sorted(found) for _ in range(found[row].rows.row_count)]
    nothing = Relation({column: pa.array([], column.type) for column in plan.found}, 0)
    parts = [nothing, *(found[row].rows for row in sorted(found))]
    answers = concatenate(parts, plan.found).combined()
    every = {**queries.take(pa.array(numbers, pa.int64())).columns, **answers.columns}
    rows = Relation({column: every[column] for column in columns}, answers.row_count)
    told = [*plan.notes, *graphs.warnings(), *_shortcomings(questions, found)]
    return MotifAnswers(rows, told, _how(found) + built)


def _questions(
    plan: MotifRows, values: Sequence[Values], row_count: int
) -> list[MotifQuestion | None]:
    """Return what each row asks, None where an argument is NULL."""
    if not plan.given:
        return [plan.question] * row_count
    questions: list[MotifQuestion | None] = []
    for row in range(row_count):
        given = {
            name: Literal(literal_value(each[row]), each.type)
            for (name, _), each in zip(plan.given, values, strict=True)
        }
        is_known = not any(value.is_null for value in given.values())
        function = TABLE_FUNCTIONS[plan.question.function]
        assert isinstance(function, SearchFunction)
        time = _time_column(plan)
        asked = question_of_row(function, plan.question, given, time) if is_known else None
        questions.append(asked)
    return questions


def _time_column(plan: MotifRows) -> Column:
    name = plan.time.name if isinstance(plan.time, Column) else "time"
    return Column(-1, name, plan.time.type)


def _shortcomings(
    questions: Sequence[MotifQuestion | None], found: Mapping[int, FoundMotifs]
) -> list[str]:
    """Return what a user should know of answers that are not what was asked for."""
    told = []
    unasked = sum(asked is None for asked in questions)
    if unasked:
        told.append(f"rows without an answer because an argument is NULL: {unasked}")
    short = [row for row in found if not found[row].is_complete]
    if not short:
        return told
    asked = questions[short[0]]
    assert asked is not None
    if asked.sample_count is None:
        which = "the estimate is" if len(found) == 1 else f"{len(short)} of {len(found)} are"
        told.append(
            f"{which} not within {asked.rel_error:g} of the count yet; raise max_seconds or "
            "rel_error"
        )
    elif len(found) == 1:
        (only,) = found.values()
        why = "" if only.rows.row_count else ", and it is not known whether there is one"
        told.append(
            f"{only.rows.row_count} of {asked.sample_count} instances were found within "
            f"{asked.max_seconds:g} seconds{why}"
        )
    else:
        told.append(
            f"{len(short)} of {len(found)} samples have fewer instances than were asked for: no "
            "more were found in max_seconds"
        )
    return told


def _how(found: Mapping[int, FoundMotifs]) -> str:
    """Return how the searches went: in full of one, and how many went how of several."""
    ways = [each.how for each in found.values()]
    if len(ways) <= 1:
        return "".join(ways) or "nothing was asked"
    counts = Counter(way.split(",")[0] for way in ways)
    return f"{len(ways)} searches: " + ", ".join(f"{n} {way}" for way, n in counts.items())


# -- graphs


class _Warnings:
    """Counts the rows that are no edges, and those that repeat an earlier one."""

    def __init__(self) -> None:
        self._skipped, self._duplicates = 0, 0

    def count(self, edges: EdgeGraph) -> None:
        """Count those of one more graph."""
        self._skipped += edges.skipped_count
        self._duplicates += edges.graph.duplicate_count

    def warnings(self) -> list[str]:
        """Return what a user should know of the rows."""
        told = []
        if self._skipped:
            told.append(
                f"rows left out because a source, a target or a time is NULL: {self._skipped}"
            )
        if self._duplicates:
            told.append(
                "rows with the source, the target and the time of an earlier row, which are edges "
                f"of their own: {self._duplicates}"
            )
        return told


class _OneGraph(_Warnings):
    """The graph of all rows, which is built when it is first asked for, or at hand."""

    def __init__(
        self,
        plan: MotifRows,
        run_with: RunWith,
        tables: Mapping[str, Table],
        cache: DerivedCache | None,
        memory: Memory,
    ) -> None:
        super().__init__()
        self._plan, self._run_with = plan, run_with
        self._tables, self._cache, self._memory = tables, cache, memory
        self._edges: EdgeGraph | None = None

    def of_row(self, _: int) -> tuple[EdgeGraph, bool]:
        """Return the graph of a row that asks, and whether it was built just now."""
        if self._edges is not None:
            return self._edges, False
        self._edges, was_kept = kept_graph(
            self._plan, self._tables, self._cache, self._memory, self._read
        )
        self.count(self._edges)
        return self._edges, not was_kept

    def _read(self) -> Sequence[Values]:
        _, values = self._run_with(self._plan.source, (), [*self._plan.ends, self._plan.time])
        return values


class _GraphsByRow(_Warnings):
    """The graph of each row that asks, of the edges with the same values in the pairs' columns.

    order: the rows, those with the same graph one after the other: one graph is held at a time.
    """

    def __init__(
        self, plan: MotifRows, queries: Relation, run_with: RunWith, memory: Memory
    ) -> None:
        super().__init__()
        self._plan = plan
        ours, theirs = zip(*plan.pairs, strict=True)
        places = [] if plan.place is None else [plan.place]
        rows, values = run_with(
            plan.source, list(dict.fromkeys((*theirs, *places))), [*plan.ends, plan.time]
        )
        memory.check(
            _EDGE_BYTES * rows.row_count + sum(each.nbytes for each in values),
            f"the edges of {rows.row_count} rows by what they are asked for",
        )
        codes = encode_keys(
            [queries.columns[column] for column in ours],
            [rows.columns[column] for column in theirs],
            range(len(ours)),
        )
        by_row = [codes.probe]
        if plan.place is not None:
            by_row.insert(0, joined(rows.columns[plan.place]).to_numpy())
        sorted_rows = np.lexsort(by_row)
        self._values = [joined(each).take(pa.array(sorted_rows)) for each in values]
        self._codes: NDArray[np.int64] = codes.build
        edge_codes = codes.probe[sorted_rows]
        self._starts = np.searchsorted(edge_codes, self._codes, "left")
        self._ends = np.searchsorted(edge_codes, self._codes, "right")
        self.order: list[int] = np.argsort(self._codes, kind="stable").tolist()
        self._held: tuple[int, EdgeGraph] | None = None

    def of_row(self, row: int) -> tuple[EdgeGraph, bool]:
        """Return the graph of a row that asks, and whether it was built just now."""
        code, start, end = int(self._codes[row]), int(self._starts[row]), int(self._ends[row])
        if self._held is not None and self._held[0] == code:
            return self._held[1], False
        self._held = None
        sources, targets, times = (each.slice(start, end - start) for each in self._values)
        edges = make_graph(sources, targets, times, self._plan.question.function)
        self.count(edges)
        self._held = code, edges
        return edges, True


def graph_states(
    plan: PhysicalPlan, tables: Mapping[str, Table], cache: DerivedCache
) -> dict[int, str]:
    """Return where the graphs of a plan's searches come from, by the identity of their nodes."""
    states = {}
    waiting = [plan]
    for node in waiting:
        waiting += node.children
        if isinstance(node, MotifRows):
            if node.pairs:
                state = "built for each row that has edges of its own"
            elif not node.table:
                state = "built for this query, whose edges are not the rows of one table"
            elif node.table not in tables:
                state = f"built for this query, '{node.table}' is read anew each time"
            elif is_graph_kept(node, tables, cache):
                state = f"kept with '{node.table}'"
            else:
                state = f"built, then kept with '{node.table}' until that changes"
            states[id(node)] = state
    return states
