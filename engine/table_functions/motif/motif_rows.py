"""motif_count() and its like in a plan: a search for each row of other tables that asks one.

    queries            motif       delta         edges
    'ann', 'cycle'     cycle(3)    1 day    ->   one graph for all rows, kept with its table,
    'bob', 'chain'     path(4)     2 days        or one for each row that has edges of its own

Without other tables there is one row, which asks what is written in the call.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import Collector, Relation, concatenate, joined
from raydb.engine.table_functions.motif.graph_cache import keeper, kept_graph, make_graph
from raydb.engine.table_functions.motif.instance_rows import instance_rows
from raydb.engine.table_functions.motif.motif_answer import Edges, search_motif
from raydb.engine.table_functions.motif.motif_conditions import conditions_of
from raydb.engine.table_functions.motif.motif_instances import listed
from raydb.engine.table_functions.motif.motif_question import question_of_row
from raydb.engine.table_functions.motif.motif_search import Clock
from raydb.engine.table_functions.search.paired_rows import PairedRows
from raydb.interrupts import check_interrupt
from raydb.planner.expressions.casts.cast import literal_value
from raydb.planner.expressions.nodes import Column, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.motif.graph_cache import EdgeGraph
    from raydb.engine.table_functions.motif.motif_answer import FoundMotifs
    from raydb.engine.table_functions.motif.motif_question import MotifQuestion
    from raydb.planner.plan.nodes import SearchRows

    Values: TypeAlias = pa.ChunkedArray | pa.Array
    Read: TypeAlias = Callable[[int], Values]

# What the order of an edge and its code take, where each row has edges of its own.
_EDGE_BYTES = 40


# What a value of an answer takes: a text of some letters, or a number in an array of its own.
_ANSWER_BYTES = 24


def motif_rows(plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of each row that asks with those of its answer, in the rows' order.

    Raises OperationalError where time or memory is too small, and DataError for an argument's value
    in a row that the argument cannot have, and for times that 64 bits cannot hold.
    """
    blocks = plan.function.stream(plan, columns, sources)
    if blocks is None:
        return _answers(plan, columns, sources)
    collector = Collector(sources.memory, columns)
    collector.add(Relation({column: pa.array([], column.type) for column in columns}, 0))
    for rows in blocks:
        collector.add(rows)
    return collector.relation()


def _answers(plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return what `motif_rows` does where each row that asks has one answer of few rows."""
    carried = [column for column in plan.left.columns if column in columns]
    needed = list(dict.fromkeys((*carried, *(ours for ours, _ in plan.pairs))))
    queries, values = sources.rows_with(plan.left, needed, [each for _, each in plan.given])
    questions = _questions(plan, values, queries.row_count)
    graphs, keep = _Graphs(plan, queries, sources), keeper(plan, sources)
    found: dict[int, FoundMotifs] = {}
    built, row_count = "", 0
    for number, row in enumerate(graphs.order, 1):
        check_interrupt()
        asked = questions[row]
        if asked is None:
            continue
        count = "" if queries.row_count == 1 else f" {number} of {queries.row_count}"
        clock = Clock.starting(asked.function + count, asked.max_seconds)
        clock.make_ready("graph")
        edges, read, is_new = graphs.of_row(row)
        if is_new and not built:
            built = f", graph built in {clock.passed * 1000:.3f} ms"
        plains = conditions_of(asked, edges, read, keep)
        about = Edges(edges, plains, read, plan.read[2].type)
        found[row] = search_motif(asked, plan.found, about, clock, sources.memory)
        row_count += found[row].rows.row_count
        need = _ANSWER_BYTES * row_count * len(plan.found)
        sources.memory.check(need, f"the answers of {asked.function}() for {number} rows")
    numbers = [row for row in sorted(found) for _ in range(found[row].rows.row_count)]
    nothing = Relation({column: pa.array([], column.type) for column in plan.found}, 0)
    parts = [nothing, *(found[row].rows for row in sorted(found))]
    answers = concatenate(parts, plan.found).combined()
    every = {**queries.take(pa.array(numbers, pa.int64())).columns, **answers.columns}
    rows = Relation({column: every[column] for column in columns}, answers.row_count)
    sources.context.warnings.extend(
        [*plan.options.notes, *graphs.warnings(), *_shortcomings(questions, found)]
    )
    if sources.trace is not None:
        sources.trace.note(plan, _how(found) + built)
    return rows


def instance_blocks(
    plan: SearchRows, columns: Sequence[Column], sources: Sources
) -> Iterator[Relation]:
    """Yield some columns of each row that asks with its instances, some at a time.

    Raises what `motif_rows` does, when the rows are asked for.
    """
    carried = [column for column in plan.left.columns if column in columns]
    needed = list(dict.fromkeys((*carried, *(ours for ours, _ in plan.pairs))))
    queries, values = sources.rows_with(plan.left, needed, [each for _, each in plan.given])
    questions = _questions(plan, values, queries.row_count)
    graphs, keep = _Graphs(plan, queries, sources), keeper(plan, sources)
    made = [column for column in plan.found if column in columns]
    for row, asked in enumerate(questions):
        if asked is None:
            continue
        clock = Clock.starting(asked.function, asked.max_seconds)
        clock.make_ready("graph")
        edges, read, _ = graphs.of_row(row)
        for found in listed(asked, edges, conditions_of(asked, edges, read, keep), clock):
            rows = instance_rows(made, found)
            own = {column: queries.columns[column] for column in carried}
            numbers = pa.array(np.full(rows.row_count, row))
            every = {**{c: each.take(numbers) for c, each in own.items()}, **rows.columns}
            yield Relation({column: every[column] for column in columns}, rows.row_count)
    unasked = sum(asked is None for asked in questions)
    sources.context.warnings.extend([*plan.options.notes, *graphs.warnings(), *_unasked(unasked)])


def _unasked(count: int) -> list[str]:
    return [f"rows without an answer because an argument is NULL: {count}"] if count else []


def _questions(
    plan: SearchRows, values: Sequence[Values], row_count: int
) -> list[MotifQuestion | None]:
    """Return what each row asks, None where an argument is NULL."""
    asked: MotifQuestion = plan.options
    if not plan.given:
        return [asked] * row_count
    time = plan.read[2]
    if not isinstance(time, Column):
        time = Column(-1, "time", time.type)
    questions: list[MotifQuestion | None] = []
    for row in range(row_count):
        given = {
            name: Literal(literal_value(each[row]), each.type)
            for (name, _), each in zip(plan.given, values, strict=True)
        }
        is_known = not any(value.is_null for value in given.values())
        questions.append(question_of_row(plan.function, asked, given, time) if is_known else None)
    return questions


def _shortcomings(
    questions: Sequence[MotifQuestion | None], found: Mapping[int, FoundMotifs]
) -> list[str]:
    """Return what a user should know of answers that are not what was asked for."""
    told = _unasked(sum(asked is None for asked in questions))
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


class _Graphs:
    """The graph of each row that asks: of all edges, which may be at hand, or of those for the row.

    order: the rows, those with the same graph one after the other: one graph is held at a time.
    """

    def __init__(self, plan: SearchRows, queries: Relation, sources: Sources) -> None:
        self._plan, self._sources = plan, sources
        self._skipped, self._duplicates = 0, 0
        self._held: tuple[int, EdgeGraph, Read] | None = None
        self._read_already: dict[int, Values] = {}
        self._paired: PairedRows | None = None
        self.order: Sequence[int] = range(queries.row_count)
        if not (plan.pairs and queries.row_count):
            return
        places = [] if plan.place is None else [plan.place]
        read = list(dict.fromkeys((*(column for _, column in plan.pairs), *places)))
        rows, values = sources.rows_with(plan.right, read, plan.read)
        sources.memory.check(
            _EDGE_BYTES * rows.row_count + sum(each.nbytes for each in values),
            f"the edges of {rows.row_count} rows by what they are asked for",
        )
        self._paired = PairedRows(plan, queries, rows)
        in_order = pa.array(self._paired.order)
        self._values = [joined(each).take(in_order) for each in values]
        self.order = np.argsort(self._paired.codes, kind="stable").tolist()

    def of_row(self, row: int) -> tuple[EdgeGraph, Read, bool]:
        """Return the graph of a row that asks, what reads its rows, and whether it is new."""
        paired = self._paired
        code = 0 if paired is None else int(paired.codes[row])
        if self._held is not None and self._held[0] == code:
            return self._held[1], self._held[2], False
        self._held = None
        was_kept = False
        asked: MotifQuestion = self._plan.options
        least = None
        if asked.since is not None and "delta" not in dict(self._plan.given):
            least = asked.since - asked.delta
        read: Read = self._read
        if paired is None:
            edges, was_kept = kept_graph(self._plan, self._sources, self._read_first, least)
        else:
            start, end = int(paired.starts[row]), int(paired.ends[row])
            own = [each.slice(start, end - start) for each in self._values]
            edges = make_graph(own[0], own[1], own[2], self._plan.function.name, least)
            read = own.__getitem__
        self._skipped += edges.skipped_count
        if not was_kept:
            # Who asks again of the same rows has been told.
            self._duplicates += edges.graph.duplicate_count
        self._held = code, edges, read
        return edges, read, not was_kept

    def _read(self, place: int) -> Values:
        """Return a value of all rows by its place among what is read."""
        if place not in self._read_already:
            [self._read_already[place]] = self._values_at((place,))
        return self._read_already[place]

    def _read_first(self) -> Sequence[Values]:
        """Return the sources, the targets and the times, and read what goes with them at once."""
        asked: MotifQuestion = self._plan.options
        derived = {each.key for where in asked.wheres for each in where.multiples}
        places = [place for place in range(len(self._plan.read)) if place not in derived]
        self._read_already = dict(zip(places, self._values_at(places), strict=True))
        return [self._read(place) for place in range(3)]

    def _values_at(self, places: Sequence[int]) -> Sequence[Values]:
        expressions = [self._plan.read[place] for place in places]
        return self._sources.rows_with(self._plan.right, (), expressions)[1]

    def warnings(self) -> list[str]:
        """Return what a user should know of rows that are no edges, or repeat an earlier one."""
        return told_of_rows(self._skipped, self._duplicates)


def told_of_rows(skipped: int, duplicates: int) -> list[str]:
    """Return what to tell of so many rows that are no edges, and that repeat an earlier one."""
    told = []
    if skipped:
        told.append(f"rows left out because a source, a target or a time is NULL: {skipped}")
    if duplicates:
        told.append(
            "rows with the source, the target and the time of an earlier row, which are edges "
            f"of their own: {duplicates}"
        )
    return told
