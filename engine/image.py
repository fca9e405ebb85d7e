"""A fused job without a BVH: one pass over all rows of a fact table, in their order.

An image stands in for the BVH. Its cells are chunks of rows, and its stored codes come for nothing:
what lies behind a foreign key is a function of the row that the key points to, so the rows behind
the key are the codes, and the rows of the dimension are the dictionary. A small integer of the fact
table is its own code. What depends on several of these is computed for all rows and encoded.

    SELECT c_nation, sum(lo_revenue) ... WHERE lo_quantity < 10 AND (s_city = 'X' OR d_year = 1995)

    lo_custkey -> customer    codes: the row of customer      parts: the nation's number
    lo_quantity               codes: 1 .. 50                  parts: 0 or -1
    (s_city = ... OR ...)     codes: 0, 1 (computed)          parts: -1, 0

Codes and measures are kept from one query to the next; a chunk that holds no code which the query
asks for is skipped (a zone map of the codes).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.engine.denormalise import fetch
from raydb.errors import DataError
from raydb.kernels.bvh import Bvh, Measure, narrow_measure
from raydb.kernels.encode import Hierarchy, encode_column
from raydb.kernels.numbers import is_number, to_numbers, words_of
from raydb.planner.catalog import BvhDefinition, BvhInfo
from raydb.planner.expression import Attribute, Expression, attributes_of, map_aggregate, rewrite
from raydb.planner.functions import evaluate
from raydb.planner.fuse import FusedScanAggregate, fuse, needs_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from raydb.planner.table_scan import FusedTableScan
    from raydb.storage.table import ForeignKey, Table

    Source = ForeignKey | str

# A chunk is what a zone map skips; below this a chunk costs more than its rows.
CHUNK_ROWS = 2**16

# Integers from 0 to below this are their own codes: a look-up table of 8 MiB.
DIRECT_CODES = 2**20

# What images may keep. A fact table of 60M rows takes 240 MB for each column of its own.
KEPT_BYTES = 2**31


class Kept:
    """Arrays made from a version of a table's rows, the least recently used of them dropped."""

    def __init__(self) -> None:
        self._items: OrderedDict[tuple[int, object], tuple[object, Any, int]] = OrderedDict()

    def get(self, owner: object, what: object, make: Callable[[], Any], row_bytes: int) -> Any:
        """Return what was made of an owner's rows before, or make it; row_bytes is its size."""
        known = self._items.pop((id(owner), what), None)
        # The owner is kept beside it, so that its identity is not given to another one.
        made = make() if known is None else known[1]
        self._items[id(owner), what] = (owner, made, row_bytes)
        while len(self._items) > 1 and sum(size for *_, size in self._items.values()) > KEPT_BYTES:
            self._items.popitem(last=False)
        return made


@dataclass(frozen=True, eq=False, slots=True)
class _Coded:
    """A source of codes: int32, shape (row_count,); -1 is the last code, that of NULL.

    values: of each attribute for every code.
    """

    codes: NDArray[np.int32]
    values: dict[Attribute, pa.Array]


@dataclass(eq=False, slots=True)
class _Image:
    """An image under construction."""

    tables: Mapping[str, Table]
    fact: Table
    kept: Kept
    sources: dict[Source, _Coded] = field(default_factory=dict)

    def encode(self, expression: Expression) -> Expression:
        """Return an expression over the image's attributes; itself where it cannot be computed.

        Rows that the query leaves out may fail: then the expression is computed row by row.
        """
        source = self._source_of(expression)
        if source is not None:
            self._add(source, attributes_of(expression))
            return expression
        try:
            encoded = encode_column(self.values_of(expression))
        except DataError:
            return expression
        attribute = Attribute((), f"computed {len(self.sources)}", expression.type)
        self.sources[attribute.name] = _Coded(encoded.codes, {attribute: encoded.values})
        return attribute

    def values_of(self, expression: Expression) -> pa.Array | pa.ChunkedArray:
        """Return an expression's value for every row; parts of one source are computed once."""
        inputs: dict[Expression, pa.Array | pa.ChunkedArray] = {}

        def gather(part: Expression) -> Expression:
            source = self._source_of(part)
            if source is None or isinstance(source, str):
                return part
            attribute = Attribute((), f"part {len(inputs)}", part.type)
            coded = self._coded(source, attributes_of(part))
            count = len(next(iter(coded.values.values())))
            values = evaluate(part, dict(coded.values), count)
            inputs[attribute] = values.take(pa.array(np.where(coded.codes < 0, count - 1, coded.codes)))
            return attribute

        rest = _outermost(expression, gather)
        for attribute in attributes_of(rest):
            if attribute not in inputs:
                inputs[attribute] = fetch(self.tables, self.fact.name, attribute)
        return evaluate(rest, inputs, self.fact.row_count)

    def _source_of(self, expression: Expression) -> Source | None:
        """Return the one source of all attributes of an expression."""
        found = {a.path[0] if a.path else a.name for a in attributes_of(expression)}
        source = found.pop() if len(found) == 1 else None
        return None if isinstance(source, str) and not self._is_small(source) else source

    def _is_small(self, name: str) -> bool:
        """Whether a column has few values, as far as a sample tells."""
        sample = self.fact.sample(name)
        return len(sample) == 0 or pc.count_distinct(sample).as_py() * 2 <= len(sample)

    def _add(self, source: Source, attributes: frozenset[Attribute]) -> None:
        known = self.sources.get(source)
        wanted = attributes if known is None else attributes | known.values.keys()
        self.sources[source] = self._coded(source, frozenset(wanted))

    def _coded(self, source: Source, attributes: frozenset[Attribute]) -> _Coded:
        if isinstance(source, str):
            (attribute,) = attributes
            size = 4 * self.fact.row_count
            codes, values = self.kept.get(
                self.fact.rows, source, lambda: _column_codes(self.fact, source), size
            )
            return _Coded(codes, {attribute: values})
        codes = self.fact.foreign_rows[source]
        has_null = any(self.fact.null_count(column) for column in source.columns)
        values = {}
        for attribute in sorted(attributes, key=repr):
            below = replace(attribute, path=attribute.path[1:])
            column = fetch(self.tables, source.table, below)
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            nulls = [pa.nulls(1, column.type)] if has_null or not chunks else []
            values[attribute] = pa.concat_arrays([*chunks, *nulls])
        return _Coded(codes, values)

    def measure(self, expression: Expression, function: str) -> Measure | None:
        """Return a measure's values for every row, None where they cannot be computed."""

        def make() -> Measure | None:
            try:
                values = self.values_of(expression)
            except DataError:
                return None
            if is_number(expression.type):
                return narrow_measure(*to_numbers(values))
            valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
            return Measure(np.zeros(len(valid), np.int8), valid)

        if any(attribute.path for attribute in attributes_of(expression)):
            return make()
        size = 8 * self.fact.row_count
        found: Measure | None = self.kept.get(self.fact.rows, expression, make, size)
        return found
