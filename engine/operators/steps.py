"""Filters and computed columns: a chain of them runs on each morsel of rows from end to end."""

from __future__ import annotations

import time
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.operators.join import join as joining
from raydb.engine.operators.join.key_set import KeyFilters
from raydb.engine.operators.relation import (
    MIN_ROWS,
    MORSEL_ROWS,
    Collector,
    Relation,
    compute_rows,
    for_each_morsel,
    morsel_rows,
)
from raydb.engine.operators.scan import lookup, scan
from raydb.engine.operators.scan.late_rows import LateRows
from raydb.engine.operators.values import series_blocks
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.planner.expressions.columns.arrays import count_true
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.functions import generated_numbers
from raydb.planner.expressions.nodes import (
    Call,
    Column,
    Literal,
    columns_of,
    conjunction,
    conjuncts,
)
from raydb.planner.expressions.registry import may_raise
from raydb.planner.plan.nodes import Filter, HashJoin, KeyFilter, Project, Scan, SearchRows, Series
from raydb.planner.plan.nodes.node import read_by
from raydb.storage.in_order import in_order
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.join.key_set import KeySet
    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import PhysicalPlan

    _Step = Filter | KeyFilter | Project

_STEPS = (Filter, KeyFilter, Project)

# Where at most one row in so many is left, the rest of a predicate is evaluated for these.
_FEW = 4

# To ask which of so many rows, which are there already, are left out takes longer than to filter
# them.
_SMALL = 2**11

# A join that is not cut into pieces gives its pairs and the rows of both sides that are in none.
# They wait for each other where they take no more than this share of the room.
_WHOLE_PIECES = 3
_WHOLE_SHARE = 4


def run_steps(plan: _Step, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of the rows at the top of a chain."""
    found = start_steps(plan, columns, sources)
    if isinstance(found, Relation):
        return found
    collector = Collector(sources.memory, columns)
    for rows in found:
        collector.add(rows)
    return collector.relation()


def start_steps(
    plan: _Step, columns: Sequence[Column], sources: Sources
) -> Relation | Iterator[Relation]:
    """Return the rows at the top of a chain, block by block those of a series.

    Those of a scan come so, too, where it would fill the memory, and those of a join's pairs where
    they are very many.
    """
    steps = steps_of(plan, frozenset(columns), sources)
    rows = rows_below(steps, columns, sources)
    if not isinstance(rows, Relation):
        return rows
    found = steps.over_all(rows, columns, sources)
    left_out = rows.row_count - found.row_count
    if left_out and isinstance(steps.source, SearchRows) and steps.lowest is not None:
        search = steps.source
        told = search.function.told_of_filter(search, steps.lowest, left_out)
        sources.context.warnings.extend([told] if told else [])
    return found


def rows_below(
    steps: Steps, columns: Sequence[Column], sources: Sources
) -> Relation | Iterator[Relation]:
    """Return the rows that a chain is to run on, or those that come of it where they are blocks."""
    rows = scan_steps(steps, sources)
    if isinstance(rows, scan.ScanBlocks):
        return steps.over(rows, columns)
    if rows is None and _is_long_series(steps) and sources.trace is None:
        assert isinstance(steps.source, Series)
        numbers = series_blocks(steps.source, steps.source.columns)
        return in_order(lambda some: compute_rows(steps.run, some.combined(), columns), numbers)
    if rows is None and isinstance(steps.source, SearchRows) and sources.trace is None:
        read = [column for column in steps.source.columns if column in steps.live]
        found = steps.source.function.stream(steps.source, read, sources)
        if found is not None:
            return in_order(
                lambda some: compute_rows(steps.run, some.combined(), columns),
                found,
                one_by_one=steps.one_by_one,
            )
    if rows is None and isinstance(steps.source, HashJoin) and sources.trace is None:
        return _start_join(steps, steps.source, columns, sources)
    return sources.rows_of(steps.source, steps.live) if rows is None else rows


def _start_join(
    steps: Steps, join: HashJoin, columns: Sequence[Column], sources: Sources
) -> Relation | Iterator[Relation]:
    """Return the rows of a join, or piece by piece those at the top of the chain above it."""
    check_interrupt()
    read = [column for column in join.columns if column in steps.live]
    pieces = joining.join_pieces(join, read, sources)
    first, are_all = _first_pieces(pieces, sources.memory)
    # Rows without columns are a mere number, for each of which something may be computed.
    if are_all and (read or steps.renames_only):
        collector = Collector(sources.memory, read)
        for rows in first:
            collector.add(rows)
        return collector.relation()
    rest = chain(first, pieces)
    if steps.renames_only:
        return map(steps.run, rest)
    morsels = (
        rows.slice(start, step)
        for rows in rest
        for step in [morsel_rows(rows, sources.memory)]
        for start in range(0, max(rows.row_count, 1), step)
    )
    return in_order(
        lambda some: compute_rows(steps.run, some.combined(), columns),
        morsels,
        one_by_one=steps.one_by_one,
    )


def _first_pieces(pieces: Iterator[Relation], memory: Memory) -> tuple[list[Relation], bool]:
    """Return so many pieces as a join that is not cut has, or fewer, and whether these are all."""
    first: list[Relation] = []
    size_bytes = 0
    for piece in pieces:
        first.append(piece)
        size_bytes += piece.size_bytes if piece.row_count > MIN_ROWS else 0
        if len(first) > _WHOLE_PIECES or size_bytes > memory.room() // _WHOLE_SHARE:
            return first, False
    return first, True


def _is_long_series(steps: Steps) -> bool:
    """Tell whether the source is a series of more numbers than a block, which are read."""
    plan = steps.source
    if not isinstance(plan, Series) or not steps.live:
        return False
    return len(range(plan.start, plan.stop, plan.step)) > MORSEL_ROWS


@dataclass(frozen=True, eq=False, slots=True)
class Steps:
    """A chain of filters and computed columns, as one function of rows of its source.

    live: the columns that it reads. lowest: the predicate next to the source, if a filter is.
    one_by_one: whether it takes values of sequences, in the order of the rows, or a setting.
    chosen: the filters by keys next to the source, and what is above them, if they are there.
    """

    source: PhysicalPlan
    run: Callable[[Relation], Relation]
    live: frozenset[Column]
    renames_only: bool
    lowest: Expression | None
    one_by_one: bool = False
    chosen: Chosen | None = None

    def over_all(self, rows: Relation, columns: Sequence[Column], sources: Sources) -> Relation:
        """Return the rows of the chain, run on morsels of rows of its source."""
        if self.renames_only:
            return self.run(rows)
        one_by_one = self.one_by_one
        if self.chosen is None or rows.row_count <= MORSEL_ROWS or not rows.is_joined:
            return for_each_morsel(rows, self.run, columns, sources.memory, one_by_one=one_by_one)
        kept, numbers = self.chosen.rows(rows.combined(), sources)
        return for_each_morsel(
            kept, self.chosen.above, columns, sources.memory, numbers, one_by_one=one_by_one
        )

    def over(self, blocks: scan.ScanBlocks, columns: Sequence[Column]) -> Generator[Relation]:
        """Yield the rows of a table's blocks after the chain; they are read in threads."""
        return in_order(
            lambda piece: compute_rows(self.run, blocks.read(piece).combined(), columns),
            blocks.pieces(),
            blocks.ahead,
            one_by_one=self.one_by_one,
        )


@dataclass(frozen=True, eq=False, slots=True)
class Chosen:
    """Filters by keys that choose rows of all that there are, before one is copied.

    node: the uppermost of them, which gives the columns in `live`. above: the steps above it.
    """

    node: KeyFilter
    filters: KeyFilters
    live: frozenset[Column]
    above: Callable[[Relation], Relation]

    def rows(self, rows: Relation, sources: Sources) -> tuple[Relation, NDArray[np.int32] | None]:
        """Return the columns that are left, and the numbers of the rows, None for all."""
        start = time.perf_counter()
        numbers = self.filters.rows_in_threads(rows)
        if sources.trace is not None:
            count = rows.row_count if numbers is None else len(numbers)
            sources.trace.add_work(self.node, count, time.perf_counter() - start)
        return rows.select(column for column in rows.columns if column in self.live), numbers


def steps_of(plan: _Step, live: frozenset[Column], sources: Sources) -> Steps:
    """Return the chain of filters and computed columns at the top of a plan."""
    steps: list[Callable[[Relation], Relation]] = []
    node: PhysicalPlan = plan
    renames_only, one_by_one = True, False
    lowest: list[Expression] = []
    chosen: Chosen | None = None
    while isinstance(node, _STEPS):
        if isinstance(node, Project):
            lowest = []
            items = [item for item in node.items if item[0] in live]
            steps.append(_compute_step(items))
            computed = [expression for _, expression in items]
            for expression in computed:
                if type(expression) is not Column:
                    renames_only = False
                    one_by_one = one_by_one or generated_numbers.asks_statement(expression)
            live = read_by(computed)
        elif isinstance(node, Filter):
            is_whole = generated_numbers.asks_statement(node.predicate)
            step, live = _filter_step(node.predicate, live, is_whole=is_whole)
            steps.append(step)
            renames_only = False
            one_by_one |= is_whole
            lowest.insert(0, node.predicate)
        elif node.number in sources.key_sets:
            top, filters = node, []
            while isinstance(node, KeyFilter):
                if node.number in sources.key_sets:
                    filters.append((node.column, sources.key_sets[node.number]))
                node = node.source
            by_keys = KeyFilters(filters)
            chosen = Chosen(top, by_keys, live, _in_a_row(tuple(steps)))
            steps.append(_key_step(by_keys, live))
            if sources.trace is not None:
                steps[-1] = sources.trace.step(top, steps[-1])
            renames_only = False
            live |= {column for column, _ in filters}
            lowest[:0] = [_is_key(*each) for each in reversed(filters)]
            continue
        else:
            node = node.source
            continue
        chosen = None
        if sources.trace is not None:
            steps[-1] = sources.trace.step(node, steps[-1])
        node = node.source
    predicate = conjunction(lowest) if lowest else None
    # What is only renamed is a job's groups still, whose keys are made where they are read.
    run = _in_a_row(steps, keeps_late=renames_only and not isinstance(node, Scan))
    return Steps(node, run, live, renames_only, predicate, one_by_one, chosen)


def _in_a_row(
    steps: Sequence[Callable[[Relation], Relation]], *, keeps_late: bool = False
) -> Callable[[Relation], Relation]:
    """Return the function that runs steps, the last one first; columns that are late may be so."""

    def run(rows: Relation) -> Relation:
        for step in reversed(steps):
            rows = step(rows)
        return rows if keeps_late else rows.plain()

    return run


def _is_key(column: Column, keys: KeySet) -> Expression:
    """Return what a filter by keys asks as an expression, from which a scan takes bounds too."""
    return Call("is_key", (column, Literal(keys, pa.null())), pa.bool_())


def scan_steps(steps: Steps, sources: Sources) -> Relation | scan.ScanBlocks | None:
    """Return the rows of a scan next to the steps, as far as a filter may keep them.

    They come block by block where they would fill the memory. None where all rows are to be read,
    and where there is no scan.
    """
    node = steps.source
    if not isinstance(node, Scan):
        return None
    read = [column for column in node.columns if column in steps.live]
    table, lowest = sources.tables[node.table], steps.lowest
    memory, trace = sources.memory, sources.trace
    if trace is None and scan.is_decoded(table, read) and table.rows.row_count <= _SMALL:
        return scan.decoded_rows(table, read)
    if lowest is None:
        if trace is not None:
            return None
        whole = scan.large_scan(table, read, memory)
        if whole is not None or not scan.packed_columns(table, read):
            return whole
        return scan.scan_table(table, read, memory, keeps_packed=True)
    some = scan.without_excluded(table, read, lowest)

    def find() -> Relation | None:
        known = node.lookup and lookup.lookup_rows(table, read, node.lookup, memory)
        return known or scan.scan_matches(some, read, lowest, memory)

    if trace is None:
        blocks = find() or scan.large_scan(some, read, memory, lowest)
        return blocks or scan.scan_table(some, read, memory, lowest, keeps_packed=True)
    return trace.run(
        node, lambda: find() or scan.scan_table(some, read, memory, lowest, keeps_packed=True)
    )


def scanned_blocks(
    plan: _Step, live: frozenset[Column], sources: Sources, step: int
) -> Generator[Relation] | None:
    """Yield the rows of filters over a large table by so many of it, for who wants the first ones.

    None where the table is small, and where rows are found by their keys.
    """
    steps = steps_of(plan, live, sources)
    node = steps.source
    if not isinstance(node, Scan) or node.lookup is not None or sources.trace is not None:
        return None
    table = sources.tables[node.table]
    if table.rows.is_streamed or table.rows.row_count <= MORSEL_ROWS:
        return None
    read = [column for column in node.columns if column in steps.live]
    some = table if steps.lowest is None else scan.without_excluded(table, read, steps.lowest)
    blocks = scan.ScanBlocks(some, read, steps.lowest, step)
    return steps.over(blocks, [column for column in plan.columns if column in live])


def _filter_step(
    predicate: Expression, live: frozenset[Column], *, is_whole: bool
) -> tuple[Callable[[Relation], Relation], frozenset[Column]]:
    """Return a function that keeps the rows for which the predicate is true, and what it reads.

    Where some parts of it have left few rows, the others are evaluated for these alone, unless it
    is to be evaluated as a whole; one that may fail is in any case.
    """
    parts = [(predicate, columns_of(predicate))] if is_whole else _parts(predicate)
    read = [live]  # by each part and those behind it, the last first
    for _, own in reversed(parts):
        read.append(read[-1] | own)
    read.reverse()

    def run(rows: Relation) -> Relation:
        mask, count = None, rows.row_count
        for place, (part, _) in enumerate(parts):
            if mask is not None and (count * _FEW < rows.row_count or may_raise(part)):
                rows, mask = _kept(rows, mask, count, read[place]), None
            found = evaluate(part, rows.columns, rows.row_count)
            mask = found if mask is None else pc.and_(mask, found)
            count = count_true(mask)
        assert mask is not None
        return _kept(rows, mask, count, live)

    return run, read[0]


def _parts(predicate: Expression) -> list[tuple[Expression, frozenset[Column]]]:
    """Return the conjuncts of a predicate, those in a row that read the same columns as one."""
    groups: list[tuple[list[Expression], frozenset[Column]]] = []
    for part in conjuncts(predicate):
        read = columns_of(part)
        if groups and groups[-1][1] == read:
            groups[-1][0].append(part)
        else:
            groups.append(([part], read))
    return [(conjunction(group), read) for group, read in groups]


def _kept(rows: Relation, mask: pa.Array, count: int, live: frozenset[Column]) -> Relation:
    """Return some columns of the rows where a mask is true."""
    kept = rows.select(column for column in rows.columns if column in live)
    return kept if count == rows.row_count else kept.filter(mask, count)


def _key_step(filters: KeyFilters, live: frozenset[Column]) -> Callable[[Relation], Relation]:
    """Return a function that keeps the rows whose columns may be keys."""

    def run(rows: Relation) -> Relation:
        found = filters.strictest_first(rows).rows(rows)
        kept = rows.select(column for column in rows.columns if column in live)
        if found is None or len(found) == rows.row_count:
            return kept
        return kept.take(pa.array(found)).combined()

    return run


def _compute_step(
    items: Sequence[tuple[Column, Expression]],
) -> Callable[[Relation], Relation]:
    """Return a function that computes columns."""
    names = {new: old for new, old in items if isinstance(old, Column) and old.type == new.type}

    def run(rows: Relation) -> Relation:
        if isinstance(rows, LateRows) and len(names) == len(items):
            return rows.renamed(names)
        inputs, count = rows.columns, rows.row_count
        values: dict[Column, pa.ChunkedArray | pa.Array] = {}
        for column, expression in items:
            known = inputs[expression] if type(expression) is Column else None
            if known is None or known.type != column.type:
                known = evaluate(expression, inputs, count)
            values[column] = known
        return Relation(values, count)

    return run
