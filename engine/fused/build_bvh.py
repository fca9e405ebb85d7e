"""CREATE BVH: denormalise, encode, and hand the arrays to the backend (RayDB, section 4)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.context.devices import build
from raydb.engine.context.progress import report
from raydb.engine.fused.denormalise import fetch
from raydb.errors import DataError
from raydb.interrupts import beside, check_interrupt
from raydb.kernels.bvh.build_input import BuildControl, Room, RowCodes, Source
from raydb.kernels.bvh.bvh import narrow_codes
from raydb.kernels.bvh.encode import (
    BLOCK_ROWS,
    Hierarchy,
    encode_blocks,
    encode_column,
    find_hierarchies,
)
from raydb.kernels.bvh.sieve import build_sieve
from raydb.kernels.codecs.arrow_numbers import to_numbers
from raydb.planner.catalog import BvhDefinition, BvhInfo
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Attribute, Expression, attributes_of
from raydb.planner.expressions.show import show
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.statement_context import StatementContext
    from raydb.storage.tables.table import ForeignKey, Table

# Columns that take at most this share of the room are kept decoded.
_KEPT_SHARE = 4


def build_bvh(
    definition: BvhDefinition, tables: Mapping[str, Table], context: StatementContext
) -> BvhInfo:
    """Build a BVH from the tables' visible rows.

    The backend that SET names sorts them. It takes what memory the statement may hold, reports its
    progress, and leaves nothing behind when it is interrupted. Raises DataError when the cells or a
    measure do not fit 64 bits, and OperationalError when the arrays do not fit the memory.
    """
    memory = context.new_memory()
    control = BuildControl(
        Room(memory.limit, lambda size: memory.too_small(size, f"BVH '{definition.name}'")),
        lambda step, share: report(f"BVH {definition.name}: {step} rows", share),
    )
    rows = _FactRows(definition, tables, control)
    encoded = _encode(rows, control)
    source = Source(
        tuple(hierarchy for hierarchy, _, _ in encoded),
        tuple(codes for _, codes, _ in encoded),
        tuple(partial(_measure, rows, expression) for expression in definition.aggregate),
        rows.count,
        rows.numbers,
    )
    index, built_on = build(source, control, context)
    if definition.sieve:
        index = replace(index, sieve=beside(partial(build_sieve, index), rows.count))
    levels = {
        attribute: (number, level)
        for number, (_, _, attributes) in enumerate(encoded)
        for level, attribute in enumerate(attributes)
    }
    return BvhInfo(definition, index, levels, built_on=built_on)


def visible_rows(table: Table) -> NDArray[np.uint32] | None:
    """Return the numbers of a table's visible rows, None where all rows are visible."""
    if table.live is None:
        return None
    numbers = np.empty(table.live_count, np.uint32)
    place = 0
    for low in range(0, table.row_count, BLOCK_ROWS):
        found = np.flatnonzero(table.live[low : low + BLOCK_ROWS])
        numbers[place : place + len(found)] = found + low
        place += len(found)
    return numbers


class _FactRows:
    """The visible rows of a fact table: `numbers` of them, None for all, and their `count`."""

    def __init__(
        self, definition: BvhDefinition, tables: Mapping[str, Table], control: BuildControl
    ) -> None:
        self.definition = definition
        self.tables = tables
        self.fact = tables[definition.table]
        control.room.take(0 if self.fact.live is None else 4 * self.fact.live_count)
        self.numbers = visible_rows(self.fact)
        self.count = self.fact.row_count if self.numbers is None else len(self.numbers)
        self._keep_columns(control.room.left())

    def _keep_columns(self, room: int | None) -> None:
        """Decode the columns that are read where they take a small share of the room.

        Else each block of them is decoded whenever it is read.
        """
        definition = self.definition
        read = {*definition.scan, *definition.group_by}
        read.update(*map(attributes_of, definition.aggregate))
        names = sorted(attribute.name for attribute in read if not attribute.path)
        rows = self.fact.rows
        enough = 0 if room is None else room // _KEPT_SHARE
        if room is None or rows.decoded_bytes(names, enough) <= enough:
            rows.columns(names)

    def read(self, attribute: Attribute, low: int, high: int) -> pa.ChunkedArray | pa.Array:
        """Return an attribute in the visible rows from `low` to before `high`."""
        check_interrupt()
        if attribute.path:
            if self.numbers is None:
                numbers = np.arange(low, high, dtype=np.uint32)
            else:
                numbers = self.numbers[low:high]
            return fetch(self.tables, self.fact.name, attribute, numbers)
        rows = self.fact.rows
        if self.numbers is None:
            values = rows.slice(attribute.name, low, high)
        else:
            # From the slice around them: to take from all chunks is to search them for each row.
            numbers = self.numbers[low:high]
            first, last = (int(numbers[0]), int(numbers[-1])) if len(numbers) else (0, -1)
            around = rows.slice(attribute.name, first, last + 1)
            values = around.take(pa.array(numbers - first))
        # A foreign key may be a narrower integer than the key that it stands for.
        return values if values.type == attribute.type else values.cast(attribute.type)


def _encode(
    rows: _FactRows, control: BuildControl
) -> list[tuple[Hierarchy, RowCodes, list[Attribute]]]:
    """Return (hierarchy, codes of the fact rows, attribute of each level) in the order of Z."""
    scan = rows.definition.scan
    by_key = by_foreign_key(list(dict.fromkeys(scan + rows.definition.group_by)))
    control.report("encode", 0.0)
    encoded = []
    for number, (key, attributes) in enumerate(by_key.items()):
        is_scan = [attribute in scan for attribute in attributes]
        if key is None:
            found = _encode_own(rows, attributes, is_scan, control)
        else:
            found = beside(partial(_encode_behind, rows, key, attributes, is_scan), rows.count)
        for hierarchy, codes in found:
            encoded.append((hierarchy, codes, [attributes[p] for p in hierarchy.columns]))
        control.report("encode", (number + 1) / len(by_key))

    def first_in_scan(item: tuple[Hierarchy, RowCodes, list[Attribute]]) -> int:
        positions = [scan.index(attribute) for attribute in item[2] if attribute in scan]
        return min(positions, default=len(scan))

    return sorted(encoded, key=first_in_scan)


def by_foreign_key(
    attributes: Sequence[Attribute],
) -> dict[ForeignKey | None, list[Attribute]]:
    """Group attributes by the foreign key that they lie behind, None for the fact table's own.

    A column that is a foreign key goes with what lies behind it: its value says the row.
    """
    keys: dict[str, ForeignKey] = {}
    for each in attributes:
        if each.path and len(each.path[0].columns) == 1:
            keys.setdefault(each.path[0].columns[0], each.path[0])
    found: dict[ForeignKey | None, list[Attribute]] = {}
    for each in attributes:
        key = each.path[0] if each.path else keys.get(each.name)
        found.setdefault(key, []).append(each)
    return found


def _encode_own(
    rows: _FactRows, attributes: list[Attribute], is_scan: list[bool], control: BuildControl
) -> list[tuple[Hierarchy, RowCodes]]:
    """Encode columns of the fact table itself."""
    take = control.room.take
    columns = [
        beside(partial(encode_blocks, partial(rows.read, each), rows.count, take), rows.count)
        for each in attributes
    ]

    def encode() -> list[tuple[Hierarchy, RowCodes]]:
        return [
            (hierarchy, RowCodes(narrow_codes(codes, hierarchy.code_count)))
            for hierarchy, codes in find_hierarchies(columns, is_scan, rows.count)
        ]

    return beside(encode, rows.count)


def _encode_behind(
    rows: _FactRows, key: ForeignKey, attributes: list[Attribute], is_scan: list[bool]
) -> list[tuple[Hierarchy, RowCodes]]:
    """Encode what lies behind a foreign key: the codes are those of the rows it points to."""
    target = rows.tables[key.table]
    pointers = rows.fact.foreign_rows[key].astype(np.int32, copy=False)
    visible = RowCodes(pointers, pointers, rows.numbers)
    has_nowhere = any(
        int(visible.places(low, low + BLOCK_ROWS).min()) < 0
        for low in range(0, rows.count, BLOCK_ROWS)
    )
    columns = columns_of(key, attributes, rows.tables, has_nowhere=has_nowhere)
    found = []
    for hierarchy, codes in find_hierarchies(
        [encode_column(column) for column in columns], is_scan
    ):
        narrow = narrow_codes(codes, hierarchy.code_count)
        if target.live is not None:
            # Masked rows are pointed to by masked rows only: they may have any code.
            spread = np.zeros(target.row_count + has_nowhere, narrow.dtype)
            spread[np.flatnonzero(target.live)] = narrow[: target.live_count]
            spread[target.row_count :] = narrow[target.live_count :]
            narrow = spread
        found.append((hierarchy, RowCodes(narrow, pointers, rows.numbers)))
    return found


def columns_behind(
    fact: str,
    key: ForeignKey | None,
    attributes: list[Attribute],
    tables: Mapping[str, Table],
    live_rows: NDArray[np.uint32] | None,
) -> tuple[list[pa.ChunkedArray | pa.Array], NDArray[np.int32] | None]:
    """Return the attributes' columns over the rows that a foreign key points to, and which.

    Fact rows whose key is NULL point to one more row that is NULL in every column.
    """
    if key is None:
        return [fetch(tables, fact, attribute, live_rows) for attribute in attributes], None
    target = tables[key.table]
    rows = tables[fact].foreign_rows[key].astype(np.int32, copy=False)
    if live_rows is not None:
        rows = rows[live_rows]
    nowhere = rows < 0
    if target.live is not None:
        rows = np.where(nowhere, rows, (np.cumsum(target.live, dtype=np.int32) - 1)[rows])
    has_nowhere = bool(nowhere.any())
    if has_nowhere:
        rows = np.where(nowhere, np.int32(target.live_count), rows)
    return columns_of(key, attributes, tables, has_nowhere=has_nowhere), rows


def columns_of(
    key: ForeignKey, attributes: list[Attribute], tables: Mapping[str, Table], *, has_nowhere: bool
) -> list[pa.ChunkedArray | pa.Array]:
    """Return the attributes' columns over the visible rows that a foreign key may point to.

    All that lies behind one foreign key is a function of the row it points to, so a snowflake's
    nation and city meet in one table, where their hierarchy is found; so is the foreign key itself,
    as the column that it refers to. `has_nowhere`: whether one
    more row, NULL in every column, is to stand for no row.
    """
    visible = visible_rows(tables[key.table])
    behind = [
        replace(each, path=each.path[1:]) if each.path else replace(each, name=key.references[0])
        for each in attributes
    ]
    columns = [fetch(tables, key.table, each, visible) for each in behind]
    return [_with_null(column) for column in columns] if has_nowhere else columns


def _with_null(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return pa.chunked_array([*chunks, pa.nulls(1, column.type)])


def _measure(
    rows: _FactRows, expression: Expression, low: int, high: int
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Evaluate a measure for a block of rows; returns its values and where they are valid."""
    inputs: dict[Expression, pa.Array | pa.ChunkedArray] = {
        attribute: rows.read(attribute, low, high) for attribute in attributes_of(expression)
    }
    try:
        return to_numbers(evaluate(expression, inputs, high - low))
    except DataError as error:
        raise DataError(f"the measure {show(expression)} of a BVH: {error}") from error
