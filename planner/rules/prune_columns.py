"""Rule: read and carry only the columns that something above needs.

Project(a, Scan(t, [a, b, c]))  ->  Project(a, Scan(t, [a]))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.plan.common_tables import (
    map_references,
    queries_in,
    references_in,
    with_query,
)
from raydb.planner.plan.nodes.union import prune_to_places
from raydb.values import replace

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import CommonTable, Plan


def prune_columns(plan: Plan, _: CatalogInfo) -> Plan:
    """Drop the columns that nothing needs; the plan's own output stays."""
    return plan.prune(plan.column_set)


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
        kept = places[reference.number]
        if len(kept) == len(reference.columns):
            return with_query(reference, queries[reference.number])
        columns = tuple([reference.columns[i] for i in sorted(kept)])
        return replace(reference, query=queries[reference.number], columns=columns)

    note(plan)
    for number in reversed(queries):
        queries[number] = prune_to_places(queries[number], sorted(places[number]))
        note(queries[number])
    for number, query in queries.items():
        queries[number] = map_references(query, narrow)
    return map_references(plan, narrow)


def _columns_read(plan: Plan) -> frozenset[Column]:
    """Return the columns that a plan gives, and those that some node in it reads."""
    read = set(plan.columns)
    nodes = [plan]
    for node in nodes:
        nodes += node.sources
        read |= node.required_columns
    return frozenset(read)
