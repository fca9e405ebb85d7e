"""Rule: read and carry only the columns that something above needs.

Project(a, Scan(t, [a, b, c]))  ->  Project(a, Scan(t, [a]))
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from raydb.planner.expressions.nodes import Column, Expression, columns_of, expressions_of
from raydb.planner.plan.common_tables import map_references, queries_in, references_in
from raydb.planner.plan.logical import (
    Aggregate,
    Apply,
    CommonTable,
    Filter,
    InnerJoin,
    Limit,
    MotifSearch,
    OuterJoin,
    Plan,
    Project,
    Recursive,
    Scan,
    SemiJoin,
    Series,
    Sort,
    Union,
    Unnest,
    Values,
    VectorSearch,
    Window,
    WorkingTable,
    expressions_in,
    map_sources,
    output_columns,
    sources_of,
)
from raydb.planner.stars.star import NoStar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raydb.planner.catalog import CatalogInfo


def prune_columns(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Drop the columns that nothing needs; the plan's own output stays."""
    del catalog
    return _prune(plan, frozenset(output_columns(plan)))


def prune_common_tables(plan: Plan) -> Plan:
    """Drop the columns of common table expressions that no reference to them needs."""
    queries = queries_in(plan)
    places: dict[int, set[int]] = {number: set() for number in queries}

    def note(part: Plan) -> None:
        """Note which columns of the references in a plan are read anywhere in it."""
        read = _columns_read(part)
        for reference in references_in(part):
            used = (i for i, column in enumerate(reference.columns) if column in read)
            places[reference.number].update(used)

    def narrow(reference: CommonTable) -> Plan:
        columns = tuple(reference.columns[i] for i in sorted(places[reference.number]))
        return replace(reference, query=queries[reference.number], columns=columns)

    note(plan)
    for number in reversed(queries):
        queries[number] = _prune_to_places(queries[number], sorted(places[number]))
        note(queries[number])
    for number, query in queries.items():
        queries[number] = map_references(query, narrow)
    return map_references(plan, narrow)


def _columns_read(plan: Plan) -> frozenset[Column]:
    """Return the columns that a plan gives, and those that some node in it reads."""
    read = set(output_columns(plan))
    nodes = [plan]
    while nodes:
        node = nodes.pop()
        sources = sources_of(node)
        nodes += sources
        read |= _read_by(expressions_in(node))
        if isinstance(node, Sort):
            read |= {key.column for key in node.keys}
        if isinstance(node, Union | Recursive):
            read |= {column for source in sources for column in output_columns(source)}
    return frozenset(read)


def _pairs_of(plan: VectorSearch | MotifSearch) -> tuple[frozenset[Column], frozenset[Column]]:
    """Return the columns of a search's sides by which it is known what belongs together."""
    ours, theirs = (frozenset(pair[side] for pair in plan.pairs) for side in (0, 1))
    return ours, theirs


def _prune(plan: Plan, needed: frozenset[Column]) -> Plan:
    """Return the plan with at least the needed columns."""
    match plan:
        case Scan(columns=columns):
            return replace(plan, columns=tuple(c for c in columns if c in needed))
        case Values() | Series() | CommonTable() | WorkingTable():
            return plan
        case Filter(source=source, predicate=predicate):
            return replace(plan, source=_prune(source, needed | columns_of(predicate)))
        case Project(source=source, items=items):
            kept = tuple(item for item in items if item[0] in needed)
            return Project(_prune(source, _read_by(e for _, e in kept)), kept)
        case Unnest(source=source, items=items):
            return replace(plan, source=_prune(source, needed | _read_by(e for _, e in items)))
        case Window(source=source, calls=calls):
            kept_windows = tuple(item for item in calls if item[0] in needed)
            read = _read_by(e for _, call in kept_windows for e in expressions_of(call))
            source = _prune(source, needed | read)
            return Window(source, kept_windows) if kept_windows else source
        case InnerJoin(sources=sources, conditions=conditions):
            needed |= _read_by(conditions)
            return replace(plan, sources=tuple(_prune(source, needed) for source in sources))
        case OuterJoin(left=left, right=right, conditions=conditions):
            needed |= _read_by(conditions)
            return replace(plan, left=_prune(left, needed), right=_prune(right, needed))
        case SemiJoin(left=left, right=right, conditions=conditions):
            read = _read_by(conditions)
            return replace(plan, left=_prune(left, needed | read), right=_prune(right, read))
        case VectorSearch(left=left, right=right, query=query, vector=vector):
            ours, theirs = _pairs_of(plan)
            left = _prune(left, needed | ours | columns_of(query))
            return replace(plan, left=left, right=_prune(right, needed | theirs | {vector}))
        case MotifSearch(left=left, right=right, ends=ends, time=time):
            ours, theirs = _pairs_of(plan)
            left = _prune(left, needed | ours | _read_by(e for _, e in plan.given))
            order = () if plan.place is None else (plan.place,)
            read = theirs | _read_by((*ends, time, *order))
            return replace(plan, left=left, right=_prune(right, read))
        case Apply():
            raise AssertionError("unnest_subqueries left an Apply")
        case Union(sources=sources, columns=columns):
            places = [i for i, column in enumerate(columns) if column in needed]
            return Union(
                tuple(_prune_to_places(source, places) for source in sources),
                tuple(columns[i] for i in places),
            )
        case Recursive():
            return map_sources(plan, lambda source: _prune(source, _all_of(source)))
        case Aggregate(source=source, keys=keys, aggregates=aggregates):
            kept_calls = tuple(item for item in aggregates if item[0] in needed)
            star = plan.star
            if star is not None and not isinstance(star, NoStar):
                asked = tuple(item for item in star.aggregates if item[0] in needed)
                return replace(plan, aggregates=kept_calls, star=replace(star, aggregates=asked))
            read = _read_by(e for _, e in keys) | _read_by(
                e for _, call in kept_calls for e in expressions_of(call)
            )
            return replace(plan, source=_prune(source, read), aggregates=kept_calls)
        case Sort(source=source, keys=sort_keys):
            return replace(plan, source=_prune(source, needed | {k.column for k in sort_keys}))
        case Limit(source=source):
            return replace(plan, source=_prune(source, needed))
        case _:
            assert_never(plan)


def _prune_to_places(source: Plan, places: list[int]) -> Plan:
    """Return the source with only the columns at some places, in their order."""
    columns = output_columns(source)
    kept = tuple(columns[place] for place in places)
    pruned = _prune(source, frozenset(kept))
    if output_columns(pruned) == kept:
        return pruned
    return Project(pruned, tuple((column, column) for column in kept))


def _all_of(plan: Plan) -> frozenset[Column]:
    return frozenset(output_columns(plan))


def _read_by(expressions: Iterable[Expression]) -> frozenset[Column]:
    """Return the columns that any of the expressions reads."""
    return frozenset(column for expression in expressions for column in columns_of(expression))
