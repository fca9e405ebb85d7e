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
from raydb.engine.relation import joined
from raydb.errors import DataError
from raydb.kernels.bvh import Bvh, Measure, narrow_measure
from raydb.kernels.encode import Hierarchy, encode_column
from raydb.kernels.intervals import mask_intervals
from raydb.kernels.numbers import is_number, to_numbers, words_of
from raydb.planner.catalog import BvhDefinition, BvhInfo
from raydb.planner.expression import Attribute, Call, Expression, attributes_of, map_aggregate
from raydb.planner.functions import evaluate
from raydb.planner.fuse import FusedScanAggregate, fuse
from raydb.planner.table_scan import asks_values, is_small

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
    """Arrays made from rows that do not change, the least recently used of them dropped."""

    def __init__(self) -> None:
        self._items: OrderedDict[tuple[object, ...], tuple[object, Any, int]] = OrderedDict()

    def get(
        self, owners: tuple[object, ...], what: object, make: Callable[[], Any], size_bytes: int
    ) -> Any:
        """Return what was made of the owners before, or make it."""
        key = (what, *map(id, owners))
        # The owners are kept beside it, so that their identities are not given to others.
        item = self._items.pop(key, None) or (owners, make(), size_bytes)
        self._items[key] = item
        while len(self._items) > 1 and sum(size for *_, size in self._items.values()) > KEPT_BYTES:
            self._items.popitem(last=False)
        return item[1]


@dataclass(frozen=True, eq=False, slots=True)
class _Coded:
    """A source of codes: int32, shape (row_count,); -1 is the last code, that of NULL.

    values: of each attribute for every code.
    """

    codes: NDArray[np.int32]
    values: dict[Attribute, pa.Array]


@dataclass(eq=False, slots=True)
class Image:
    """The rows of a fact table as codes; `sources` are those that a job was given."""

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
        encoded = self._keep(
            expression,
            attributes_of(expression),
            4,
            lambda: encode_column(self.values_of(expression)),
        )
        if encoded is None:
            return expression
        attribute = Attribute((), f"computed {len(self.sources)}", expression.type)
        self.sources[attribute.name] = _Coded(encoded.codes, {attribute: encoded.values})
        return attribute

    def measure(self, expression: Expression) -> Measure | None:
        """Return a measure's values for every row, None where they cannot be computed."""

        def make() -> Measure:
            values = self.values_of(expression)
            if is_number(expression.type):
                return narrow_measure(*to_numbers(values))
            valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
            return Measure(np.zeros(len(valid), np.int8), valid)

        found: Measure | None = self._keep(
            ("measure", expression), attributes_of(expression), 8, make
        )
        return found

    def coded(
        self, expression: Expression, row_ids: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int32], pa.Array] | None:
        """Return an expression as codes of some rows, -1 for the last, and the value of each code.

        None where it depends on more than one source, where it fails for some value, and where so
        few rows are not worth the evaluation for every value.
        """
        source = self._source_of(expression)
        if source is None:
            return None
        if isinstance(source, str):
            worth = len(row_ids) * 64 >= self.fact.row_count
        else:
            worth = len(row_ids) * 4 >= self.tables[source.table].row_count
        if not worth:
            return None
        coded = self._coded(source, attributes_of(expression))
        count = len(next(iter(coded.values.values())))
        try:
            return coded.codes[row_ids], joined(evaluate(expression, dict(coded.values), count))
        except DataError:
            return None

    def visible(self) -> Expression:
        """Return the predicate that a row was not deleted."""
        live = self.fact.live
        assert live is not None
        attribute = Attribute((), "visible", pa.bool_())
        codes = self.kept.get((live,), "visible", lambda: live.astype(np.int32), 4 * len(live))
        self.sources[attribute.name] = _Coded(codes, {attribute: pa.array([False, True])})
        return attribute

    def _keep(
        self,
        what: object,
        attributes: frozenset[Attribute],
        row_bytes: int,
        make: Callable[[], Any],
    ) -> Any:
        """Make arrays of every row's attributes once; None where a row fails."""

        def attempt() -> Any:
            try:
                return make()
            except DataError:
                return None

        names = {key.table for attribute in attributes for key in attribute.path}
        owners = (self.fact.rows, *(self.tables[name].rows for name in sorted(names)))
        return self.kept.get(owners, what, attempt, row_bytes * self.fact.row_count)

    def zones(
        self, codes: NDArray[np.int32], firsts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the least and the greatest code of each chunk of rows."""

        def make() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
            return np.minimum.reduceat(codes, firsts), np.maximum.reduceat(codes, firsts)

        found: tuple[NDArray[np.int32], NDArray[np.int32]] = self.kept.get(
            (codes,), "zones", make, codes.nbytes
        )
        return found

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
            last_for_null = np.where(coded.codes < 0, np.int32(count - 1), coded.codes)
            inputs[attribute] = values.take(pa.array(last_for_null))
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
        return (
            None
            if isinstance(source, str) and is_small(self.fact.sample(source)) is None
            else source
        )

    def _add(self, source: Source, attributes: frozenset[Attribute]) -> None:
        known = self.sources.get(source)
        wanted = attributes if known is None else attributes | known.values.keys()
        self.sources[source] = self._coded(source, frozenset(wanted))

    def _coded(self, source: Source, attributes: frozenset[Attribute]) -> _Coded:
        if isinstance(source, str):
            (attribute,) = attributes
            codes, values = self._keep(
                source, attributes, 4, lambda: _column_codes(self.fact, source)
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


def fuse_on_rows(
    scan: FusedTableScan, tables: Mapping[str, Table], kept: Kept
) -> FusedScanAggregate:
    """Return a scan as a fused job on an image of its fact table."""
    star = scan.star
    image = Image(tables, tables[star.fact], kept)
    predicates = [image.encode(predicate) for predicate in star.predicates]
    keys = [(column, image.encode(key)) for column, key in star.keys]
    measures: dict[Expression, Measure] = {}
    aggregates = []
    for column, call in star.aggregates:
        for argument in () if asks_values(call) else call.arguments:
            measure = measures.get(argument) or image.measure(argument)
            if measure is not None:
                measures[argument] = measure
        encoded = map_aggregate(call, image.encode) if asks_values(call) else call
        aggregates.append((column, encoded))
    if image.fact.live is not None:
        predicates.append(image.visible())
    star = replace(
        star, predicates=tuple(predicates), keys=tuple(keys), aggregates=tuple(aggregates)
    )
    info = _describe(image, star.fact, measures)
    plan = fuse(star, info, scan.backend, scan.backend_reason)
    assert isinstance(plan, FusedScanAggregate), plan
    intervals = _live_chunks(image, plan)
    return replace(plan, job=replace(plan.job, intervals=intervals))


def _describe(image: Image, fact: str, measures: Mapping[Expression, Measure]) -> BvhInfo:
    """Return an image as a BVH that has every attribute in its payload and none on its Z axis."""
    row_count = image.fact.row_count
    hierarchies: list[Hierarchy] = []
    levels: dict[Attribute, tuple[int, int]] = {}
    for number, coded in enumerate(image.sources.values()):
        values = tuple(coded.values.values())
        scan_codes = np.zeros(len(values[0]), np.int32)
        hierarchies.append(Hierarchy(tuple(range(len(values))), values, scan_codes, 1))
        levels |= {attribute: (number, level) for level, attribute in enumerate(coded.values)}
    chunks = np.append(np.arange(0, row_count, CHUNK_ROWS), row_count).astype(np.int64)
    index = Bvh(
        tuple(hierarchies),
        len(chunks) - 1,
        None,
        chunks,
        image.kept.get(
            (image.fact.rows,),
            "row numbers",
            lambda: np.arange(row_count, dtype=np.uint32),
            4 * row_count,
        ),
        tuple(range(len(hierarchies))),
        tuple(coded.codes for coded in image.sources.values()),
        tuple(measures.values()),
    )
    definition = BvhDefinition("", fact, (), tuple(levels), tuple(measures), "")
    return BvhInfo(definition, index, levels)


def _live_chunks(image: Image, plan: FusedScanAggregate) -> NDArray[np.int64]:
    """Return the intervals of chunks in which every map may let a row pass."""
    if not len(plan.job.intervals):
        return plan.job.intervals
    kept = np.ones(plan.index.cell_count, np.bool_)
    for code_map in plan.job.maps:
        if code_map.by_cell or (code_map.groups >= 0).all():
            continue
        codes = plan.index.codes[code_map.hierarchy]
        least, most = image.zones(codes, plan.index.offsets[:-1])
        passing = np.concatenate([[0], np.cumsum(code_map.groups >= 0)])
        # A NULL's code is -1, and says nothing of the order.
        kept &= (least < 0) | (passing[most + 1] > passing[np.maximum(least, 0)])
    return mask_intervals(kept)


def _outermost(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Change the outermost parts of an expression that `change` makes something else of."""
    changed = change(expression)
    if changed is not expression or not isinstance(expression, Call):
        return changed
    arguments = tuple(_outermost(argument, change) for argument in expression.arguments)
    return replace(expression, arguments=arguments)


def _column_codes(fact: Table, name: str) -> tuple[NDArray[np.int32], pa.Array]:
    """Return a column as codes with the value of each code, NULL the last."""
    column = fact.rows.column(name)
    if pa.types.is_integer(column.type) and not column.null_count and len(column):
        values = words_of(column.combine_chunks())
        if values.min() >= 0 and values.max() < DIRECT_CODES:
            codes = values.astype(np.int32, copy=False)
            return codes, pa.array(np.arange(int(values.max()) + 1)).cast(column.type)
    encoded = encode_column(column)
    return encoded.codes, encoded.values
