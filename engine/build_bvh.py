"""CREATE BVH: denormalise, encode, and hand the arrays to the backend (RayDB, section 4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.denormalise import fetch
from raydb.errors import DataError
from raydb.kernels.choice import load_backend
from raydb.kernels.encode import Hierarchy, encode_column, find_hierarchies
from raydb.kernels.numbers import to_numbers
from raydb.kernels.sieve import build_sieve
from raydb.planner.catalog import BvhDefinition, BvhInfo
from raydb.planner.explain import show
from raydb.planner.expression import Attribute, Expression, attributes_of
from raydb.planner.functions import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raydb.storage.table import ForeignKey, Table


def build_bvh(definition: BvhDefinition, tables: Mapping[str, Table]) -> BvhInfo:
    """Build a BVH from the tables' visible rows.

    Raises DataError when the cells or a measure do not fit 64 bits.
    """
    fact = tables[definition.table]
    live_rows = visible_rows(fact)
    encoded = _encode(definition, tables, live_rows)
    measures = [
        _measure(definition, expression, tables, live_rows) for expression in definition.aggregate
    ]
    index = load_backend("cpu").build(
        [hierarchy for hierarchy, _, _ in encoded],
        [codes for _, codes, _ in encoded],
        measures,
        fact.live_count,
    )
    if live_rows is not None:
        index = replace(index, row_ids=live_rows[index.row_ids])
    if definition.sieve:
        index = replace(index, sieve=build_sieve(index))
    levels = {
        attribute: (number, level)
        for number, (_, _, attributes) in enumerate(encoded)
        for level, attribute in enumerate(attributes)
    }
    return BvhInfo(definition, index, levels)


def visible_rows(table: Table) -> NDArray[np.uint32] | None:
    """Return the numbers of a table's visible rows, None where all rows are visible."""
    return None if table.live is None else np.flatnonzero(table.live).astype(np.uint32)


def _encode(
    definition: BvhDefinition, tables: Mapping[str, Table], live_rows: NDArray[np.uint32] | None
) -> list[tuple[Hierarchy, NDArray[np.int32], list[Attribute]]]:
    """Return (hierarchy, code of each fact row, attribute of each level) in the order of Z.

    live_rows: the visible fact rows, None for all.
    """
    by_key: dict[ForeignKey | None, list[Attribute]] = {}
    for attribute in dict.fromkeys(definition.scan + definition.group_by):
        by_key.setdefault(attribute.path[0] if attribute.path else None, []).append(attribute)

    encoded = []
    for key, attributes in by_key.items():
        columns, rows = columns_behind(definition.table, key, attributes, tables, live_rows)
        found = find_hierarchies(
            [encode_column(column) for column in columns],
            [attribute in definition.scan for attribute in attributes],
        )
        for hierarchy, codes in found:
            row_codes = codes if rows is None else codes[rows]
            levels = [attributes[position] for position in hierarchy.columns]
            encoded.append((hierarchy, row_codes, levels))

    def first_in_scan(item: tuple[Hierarchy, NDArray[np.int32], list[Attribute]]) -> int:
        positions = [definition.scan.index(a) for a in item[2] if a in definition.scan]
        return min(positions, default=len(definition.scan))

    return sorted(encoded, key=first_in_scan)


def columns_behind(
    fact: str,
    key: ForeignKey | None,
    attributes: list[Attribute],
    tables: Mapping[str, Table],
    live_rows: NDArray[np.uint32] | None,
) -> tuple[list[pa.ChunkedArray | pa.Array], NDArray[np.int32] | None]:
    """Return the attributes' columns over the rows that a foreign key points to, and which.

    All that lies behind one foreign key is a function of the row it points to, so a snowflake's
    nation and city meet in one table, where their hierarchy is found among its visible rows. Fact
    rows whose key is NULL point to one more row that is NULL in every column.
    """
    if key is None:
        return [fetch(tables, fact, attribute, live_rows) for attribute in attributes], None
    target = tables[key.table]
    columns = [
        fetch(tables, key.table, replace(attribute, path=attribute.path[1:]), visible_rows(target))
        for attribute in attributes
    ]
    rows = tables[fact].foreign_rows[key]
    if live_rows is not None:
        rows = rows[live_rows]
    nowhere = rows < 0
    if target.live is not None:
        rows = np.where(nowhere, rows, (np.cumsum(target.live, dtype=np.int32) - 1)[rows])
    if nowhere.any():
        rows = np.where(nowhere, np.int32(target.live_count), rows)
        columns = [_with_null(column) for column in columns]
    return columns, rows


def _with_null(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return pa.chunked_array([*chunks, pa.nulls(1, column.type)])


def _measure(
    definition: BvhDefinition,
    expression: Expression,
    tables: Mapping[str, Table],
    live_rows: NDArray[np.uint32] | None,
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Evaluate a measure for the visible fact rows; returns its values and where they are valid."""
    inputs: dict[Expression, pa.Array | pa.ChunkedArray] = {
        attribute: fetch(tables, definition.table, attribute, live_rows)
        for attribute in attributes_of(expression)
    }
    try:
        return to_numbers(evaluate(expression, inputs, tables[definition.table].live_count))
    except DataError as error:
        raise DataError(f"the measure {show(expression)} of a BVH: {error}") from error
