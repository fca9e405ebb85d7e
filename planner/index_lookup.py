"""Rows that are found by a key or an index: `id = 5`, `id IN (5, 7)`, `a = 1 AND b IN (2, 3)`.

All columns of the key must be compared with constants, and there must be few combinations of these.
The filter stays above the scan: what is found is compared once more.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from raydb.late import pc
from raydb.planner.expressions.nodes import (
    Attribute,
    Call,
    Column,
    Literal,
    columns_of,
    conjuncts,
)
from raydb.planner.expressions.registry import may_raise
from raydb.planner.plan.nodes import IndexLookup
from raydb.storage.tables.key_index import MAX_KEYS, MIN_ROWS, is_searchable
from raydb.storage.tables.table import ROW_NUMBER, UniqueKey, constraint_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.catalog import TableInfo
    from raydb.planner.expressions.nodes import Expression
    from raydb.storage.tables.table import TableDefinition


# A scan is given up where at most one row in 64 is wanted.
_MIN_KEYS = 64


def find_lookup(
    predicates: Sequence[Expression], table: TableInfo, read: set[str] | None = None
) -> IndexLookup | None:
    """Return how the rows for which all predicates hold are found, None where they are not.

    read: the columns of the table that predicates over attributes read, None for other predicates.
    Of several keys and indexes a unique one is chosen, then one of many columns. What stands behind
    a part that may fail does not count: it must not keep that part from failing.
    """
    if table.row_count < MIN_ROWS:
        return None
    keys: list[tuple[tuple[str, ...], str, bool]] | None = table.kept.get("keys")
    if keys is None:
        keys = table.kept["keys"] = _find_keys(table.definition)
    if not keys:
        return None
    if read is None:
        read = {column.name for column in columns_of(*predicates)}
    if not any(read.issuperset(columns) for columns, _, _ in keys):
        return None
    sought = _constants(predicates, table.definition)
    found = []
    for columns, name, is_unique in keys:
        if not all(column in sought for column in columns):
            continue
        if math.prod(len(sought[column]) for column in columns) > MAX_KEYS:
            continue
        if is_unique or _tells_rows_apart(columns, table):
            values = tuple(itertools.product(*(sought[column] for column in columns)))
            found.append(IndexLookup(name, columns, values, is_unique))
    return max(found, key=lambda each: (each.is_unique, len(each.columns)), default=None)


def _tells_rows_apart(columns: Sequence[str], table: TableInfo) -> bool:
    """Whether rows with one key are few, by a sample: else a scan is as good."""
    count = 1
    for column in columns:
        count *= pc.count_distinct(table.sample[column]).as_py()
    return count >= _MIN_KEYS


def _find_keys(definition: TableDefinition) -> list[tuple[tuple[str, ...], str, bool]]:
    """Return the columns and the name of each key and index, and whether it is unique."""
    if not (definition.declared_keys or definition.indexes):
        return []
    keys = [
        (constraint.columns, name, True)
        for constraint, name in constraint_names(definition)
        if isinstance(constraint, UniqueKey)
    ]
    keys += [
        (index.columns, index.name, index.unique)
        for index in definition.indexes
        if index.is_of_keys
    ]
    schema = definition.schema
    return [
        each for each in keys if all(is_searchable(schema.field(name).type) for name in each[0])
    ]


def _constants(
    predicates: Sequence[Expression], definition: TableDefinition
) -> dict[str, tuple[Literal, ...]]:
    """Return the constants that columns are compared with, the fewest of each."""
    found: dict[str, tuple[Literal, ...]] = {}
    for part in (each for predicate in predicates for each in conjuncts(predicate)):
        if may_raise(part):
            break
        compared = _compared(part)
        if compared is None:
            continue
        name, literals = compared
        if name == ROW_NUMBER or name not in definition.schema.names:
            continue
        kind = definition.schema.field(name).type
        # NULL is equal to nothing.
        given = tuple(each for each in literals if each.value is not None)
        same = all(each.type == kind for each in given)
        if same and (name not in found or len(given) < len(found[name])):
            found[name] = given
    return found


def _compared(part: Expression) -> tuple[str, tuple[Literal, ...]] | None:
    """Return the column of the table that is equal to one of some constants, and these."""
    match part:
        case Call("or", parts):
            both = [_compared(each) for each in parts]
            names = {each[0] for each in both if each is not None}
            if None in both or len(names) != 1:
                return None
            return names.pop(), tuple(each for one in both if one is not None for each in one[1])
        case Call("equal", (Literal() as literal, (Column() | Attribute()) as column)):
            literals: tuple[Expression, ...] = (literal,)
        case Call("equal" | "in", ((Column() | Attribute()) as column, *others)):
            literals = tuple(others)
        case _:
            return None
    constants = tuple(each for each in literals if isinstance(each, Literal))
    is_own = isinstance(column, Column) or not column.path
    return (column.name, constants) if is_own and len(constants) == len(literals) else None
