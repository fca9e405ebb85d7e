"""A fused job without a BVH: one pass over the rows of a fact table, in their order.

An image stands in for the BVH. It has a narrow code for each row and attribute that a job asks for,
a byte where the attribute has up to 256 values, and all rows lie in one cell. Attributes of one
dimension that a query needs together are coded by the tuples that occur.

    SELECT c_nation, sum(lo_revenue) ... WHERE lo_quantity < 10 AND (s_city = 'X' OR d_year = 1995)

    c_nation                  codes: 0 .. 24              parts of the group number: 0 .. 24
    lo_quantity               codes: 1 .. 50              parts: 0 or -1
    (s_city, d_year)          codes: two columns, whose pairs are looked up: 0 or -1

What depends on more is computed for every row and encoded. Codes and measures are kept from one
query to the next, and remade when they were dropped; what a query itself makes is small.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

import numpy as np
import pyarrow as pa

from raydb.engine.fused.column_codes import (
    Coded,
    CodedPart,
    branches_of,
    column_codes,
    hierarchy_of_codes,
    narrow_codes,
    renamed,
    rows_of_any,
    unit_codes,
    value_of_codes,
    without_null,
)
from raydb.engine.fused.denormalise import dimension_values, fetch, own_rows, stored_measure
from raydb.engine.fused.gather import row_order
from raydb.engine.operators.relation import joined
from raydb.errors import DataError
from raydb.interrupts import beside, check_interrupt
from raydb.kernels.backends.cpu.scans.scan import zones_of
from raydb.kernels.bvh.bvh import Bvh, Measure, narrow_measure
from raydb.kernels.bvh.encode import BLOCK_ROWS, Hierarchy, encode_column, join_codes
from raydb.kernels.codecs.arrow_numbers import is_number, is_whole, to_numbers
from raydb.late import pc
from raydb.planner.catalog import BvhDefinition, BvhInfo
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import (
    Attribute,
    Call,
    Expression,
    Literal,
    attributes_of,
)
from raydb.planner.expressions.registry import may_raise
from raydb.planner.stars.instants import CODED_UNITS, MOMENT, by_unit
from raydb.planner.stars.table_scan import has_codes, is_small, key_of
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from raydb.engine.fused.derived_cache import DerivedCache
    from raydb.kernels.backends.cpu.scans.scan import Zones
    from raydb.storage.tables.table import ForeignKey, Table

    # Attributes that are coded together, an expression that is computed for every row, or which
    # rows were not deleted.
    Source = tuple[Attribute, ...] | Expression | OneOf["live"]

# Two attributes are looked up as a pair where that takes a table of at most 256 KiB.
PAIR_CODES = 2**16


@dataclass(frozen=True, eq=False, slots=True)
class ImageHierarchy:
    """One hierarchy of an image: its sources, one or a pair, and its attributes by other names."""

    sources: tuple[Source, ...]
    code_counts: tuple[int, ...]
    names: dict[Expression, Attribute]
    encoded: Hierarchy


@dataclass(eq=False, slots=True)
class Image:
    """The rows of a fact table as codes, from `first_row` on.

    together: for a foreign key, attributes behind it that are coded as one, because a query groups
    by several. `hierarchies` are those that a job was given; no array is held here.
    """

    tables: Mapping[str, Table]
    fact: Table
    cache: DerivedCache
    first_row: int = 0
    together: dict[ForeignKey, frozenset[Attribute]] = field(default_factory=dict)
    hierarchies: list[ImageHierarchy] = field(default_factory=list)

    @property
    def row_count(self) -> int:
        """The number of rows of the image."""
        return self.fact.row_count - self.first_row

    def encode(self, expression: Expression) -> Expression:
        """Return an expression over the image's attributes; itself where it cannot be computed.

        Rows that the query leaves out may fail: then the expression is computed row by row.
        """
        check_interrupt()
        whole, sources = self._over_codes(expression)
        if sources is None:
            coded = self._coded(expression)
            return expression if coded is None else self._place((expression,), expression)
        encoded = self._place(sources, whole)
        if not may_raise(whole):
            return encoded
        (number,) = {self._number_of(attribute) for attribute in attributes_of(encoded)}
        hierarchy = self.hierarchies[number]
        inputs = dict(zip(hierarchy.names.values(), hierarchy.encoded.levels, strict=True))
        try:
            evaluate(encoded, dict(inputs), int(np.prod(hierarchy.code_counts)))
        except DataError:
            return expression
        return encoded

    def encode_condition(self, predicate: Expression) -> Expression:
        """Return a predicate as `encode` does; where it is NULL it may be false instead."""
        is_coded = self._over_codes(predicate)[1] is not None
        return self.encode(predicate if is_coded else without_null(predicate))

    def has_few_values(self, expression: Expression) -> bool:
        """Tell whether an expression has few values as far as samples know."""
        if self._over_codes(expression)[1] is not None:
            return True
        # A constant of a nested type has no codes, and no attribute that says so.
        return has_codes(expression.type) and all(
            attribute.path or is_small(self.fact.sample(attribute.name)) is not None
            for attribute in attributes_of(expression)
        )

    def measure(self, expression: Expression) -> Measure | None:
        """Return a measure's values for every row, None where they cannot be computed."""

        def make() -> Measure | None:
            try:
                if isinstance(expression, Call) and expression.function == "row_order":
                    return row_order(self, expression)
                if is_number(expression.type):
                    return stored_measure(self.tables, self.fact, expression, self.first_row) or (
                        self._computed(expression)
                    )
                values = self.values_of(expression)
            except DataError:
                return None
            valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
            return Measure(np.zeros(len(valid), np.int8), valid)

        found: Measure | None = self._keep("measure", expression, make)
        return found

    def codes(self, sources: tuple[Source, ...]) -> tuple[NDArray[Any], ...]:
        """Return the codes of every row, those of a pair as two arrays."""
        coded = [self._coded(source) for source in sources]
        return tuple(each.codes for each in coded if each is not None)

    def zones(self, sources: tuple[Source, ...]) -> Zones:
        """Return the least and the greatest code of each chunk of rows, of one source."""
        (codes,) = self.codes(sources)
        zones: Zones = self.cache.get(
            (codes,), self._what("zones", sources), lambda: zones_of(codes)
        )
        return zones

    def coded(
        self, expression: Expression, row_ids: NDArray[np.uint32]
    ) -> tuple[NDArray[Any], pa.Array] | None:
        """Return an expression as codes of some rows, -1 for the last, and the value of each code.

        None where it depends on more than one source, where it fails for some value, and where so
        few rows are not worth the evaluation for every value.
        """
        attributes = attributes_of(expression)
        keys = {attribute.path[:1] for attribute in attributes}
        if len(keys) != 1:
            return None
        (path,) = keys
        try:
            if path:
                if len(row_ids) * 4 < self.tables[path[0].table].row_count:
                    return None
                inputs = dimension_values(self.tables, path[0], attributes)
                values = evaluate(expression, dict(inputs), len(next(iter(inputs.values()))))
                rows = self.fact.foreign_rows[path[0]][row_ids]
                return rows.astype(np.int32, copy=False), joined(values)
            whole, sources = self._over_codes(expression)
            if sources is None or len(sources) > 1 or len(row_ids) * 64 < self.row_count:
                return None
            coded = self._coded(sources[0])
            assert coded is not None
            return coded.codes[row_ids], value_of_codes(whole, sources[0], coded)
        except DataError:
            return None

    def values_at(self, expression: Expression, row_ids: NDArray[np.uint32]) -> pa.Array:
        """Return an expression's values in some rows of the fact table."""
        coded = self.coded(expression, row_ids)
        if coded is not None:
            codes, values = coded
            return values.take(pa.array(np.where(codes < 0, len(values) - 1, codes)))
        inputs: dict[Expression, Any] = {
            attribute: fetch(self.tables, self.fact.name, attribute, row_ids)
            for attribute in attributes_of(expression)
        }
        return joined(evaluate(expression, inputs, len(row_ids)))

    def visible(self) -> Expression:
        """Return the predicate that a row was not deleted."""
        return self._place(("live",), Attribute((), "live", pa.bool_()))

    def describe(self, measures: Mapping[Expression, Measure]) -> BvhInfo:
        """Return an image as a BVH that has every attribute in its payload and none on its Z axis.

        All rows are in its one cell. It has no arrays of theirs, of measures the bounds alone.
        """
        hierarchies = tuple([each.encoded for each in self.hierarchies])
        levels: dict[Attribute, tuple[int, int]] = {}
        for number, each in enumerate(self.hierarchies):
            levels |= {name: (number, level) for level, name in enumerate(each.names.values())}
        index = Bvh(
            hierarchies,
            1,
            None,
            np.array([0, self.row_count]),
            np.empty(0, np.uint32),
            tuple(range(len(hierarchies))),
            (),
            tuple(
                Measure(np.empty(0, each.values.dtype), None, each.low, each.high)
                for each in measures.values()
            ),
        )
        definition = BvhDefinition("", self.fact.name, (), tuple(levels), tuple(measures), "")
        return BvhInfo(definition, index, levels)

    def values_of(self, expression: Expression) -> pa.Array | pa.ChunkedArray:
        """Return an expression's value for every row; parts of one dimension are computed once."""
        rest, inputs = self._inputs_of(expression)
        return evaluate(rest, inputs, self.row_count)

    def _computed(self, expression: Expression) -> Measure:
        """Compute a number for every row, in blocks so that the arrays in between fit the cache."""
        rest, inputs = self._inputs_of(expression, own=False)
        own = [attribute for attribute in attributes_of(rest) if attribute not in inputs]
        dtype = np.float64 if pa.types.is_floating(expression.type) else np.int64
        numbers = np.empty(self.row_count, dtype)
        valid = None
        for low in range(0, self.row_count, BLOCK_ROWS):
            check_interrupt()
            high = min(low + BLOCK_ROWS, self.row_count)
            block = {each: values.slice(low, high - low) for each, values in inputs.items()}
            at = self.first_row + low, self.first_row + high
            block |= {each: own_rows(self.fact, each, *at) for each in own}
            numbers[low:high], is_valid = to_numbers(evaluate(rest, block, high - low))
            if is_valid is not None:
                valid = np.ones(self.row_count, np.bool_) if valid is None else valid
                valid[low:high] = is_valid
        return narrow_measure(numbers, valid)

    def _inputs_of(
        self, expression: Expression, *, own: bool = True
    ) -> tuple[Expression, dict[Expression, pa.Array | pa.ChunkedArray]]:
        """Return what is left of an expression to compute for every row, and its inputs.

        own: whether those of the fact table itself are among them.
        """
        inputs: dict[Expression, pa.Array | pa.ChunkedArray] = {}

        def gather(part: Expression) -> Expression:
            attributes = attributes_of(part)
            keys = {attribute.path[:1] for attribute in attributes}
            if len(keys) != 1 or keys == {()}:
                return part
            ((key,),) = keys
            attribute = Attribute((), f"part {len(inputs)}", part.type)
            inputs[attribute] = self._behind(key, part, attributes)
            return attribute

        rest = _outermost(expression, gather)
        for attribute in attributes_of(rest) if own else ():
            if attribute not in inputs:
                column = fetch(self.tables, self.fact.name, attribute)
                inputs[attribute] = column.slice(self.first_row)
        return rest, inputs

    def _behind(
        self, key: ForeignKey, part: Expression, attributes: Iterable[Attribute]
    ) -> pa.Array | pa.ChunkedArray:
        """Return an expression of what lies behind a foreign key, for every row.

        It is computed for the rows of the smaller one of the two tables.
        """
        if self.tables[key.table].row_count > self.row_count:
            numbers = np.arange(self.first_row, self.fact.row_count, dtype=np.uint32)
            taken = {each: fetch(self.tables, self.fact.name, each, numbers) for each in attributes}
            return evaluate(part, dict(taken), self.row_count)
        dimension = dimension_values(self.tables, key, attributes)
        count = len(next(iter(dimension.values())))
        rows = self.fact.foreign_rows[key][self.first_row :]
        places = pa.array(np.where(rows < 0, np.int32(count - 1), rows))
        return evaluate(part, dict(dimension), count).take(places)

    def _over_codes(self, expression: Expression) -> tuple[Expression, tuple[Source, ...] | None]:
        """Return an expression over what is coded, and the sources; None for these to compute it.

        What the days, or the hours, of a TIMESTAMP tell is an expression over these.
        """
        sources = self._sources_of(expression)
        units = by_unit(expression) if sources is None else None
        if units is None or self._coded(units[1]) is None:
            return expression, sources
        return units[0], (units[1],)

    def _sources_of(self, expression: Expression) -> tuple[Source, ...] | None:
        """Return the source of all attributes of an expression, or a pair; None to compute it."""
        sources: set[tuple[Attribute, ...]] = set()
        by_key: dict[ForeignKey, set[Attribute]] = {}
        for attribute in attributes_of(expression):
            key = key_of(attribute, self.fact.definition)
            if key is not None and (attribute.path or attribute in self.together.get(key, ())):
                by_key.setdefault(key, set()).add(attribute)
            elif is_small(self.fact.sample(attribute.name)) is None:
                return None
            else:
                sources.add((attribute,))
        for key, attributes in by_key.items():
            joint = self.together.get(key, frozenset())
            is_joint = joint.issuperset(attributes)
            sources.add(tuple(sorted(joint if is_joint else attributes, key=repr)))
        if not 1 <= len(sources) <= 2:
            return None
        found = tuple(sorted(sources, key=repr))
        counts = [coded.code_count for each in found if (coded := self._coded(each)) is not None]
        return found if len(found) == 1 or np.prod(counts) <= PAIR_CODES else None

    def _place(self, sources: tuple[Source, ...], expression: Expression) -> Expression:
        """Give sources a hierarchy, and return the expression over its attributes."""
        for known in self.hierarchies:
            if known.sources == sources:
                return renamed(expression, known.names)
        coded = [each for source in sources if (each := self._coded(source)) is not None]
        counts = tuple(each.code_count for each in coded)
        originals: list[Expression] = []
        for source in sources:
            match source:
                case tuple():
                    originals += source
                case "live":
                    originals.append(Attribute((), "live", pa.bool_()))
                case _:
                    originals.append(source)
        number = len(self.hierarchies)
        names = {
            original: Attribute((), f"code {number} level {level}", original.type)
            for level, original in enumerate(originals)
        }
        # Kept, for what is known of its levels is kept with it.
        encoded: Hierarchy = self.cache.get(
            tuple(each.codes for each in coded),
            self._what("hierarchy", sources),
            lambda: hierarchy_of_codes(coded),
        )
        self.hierarchies.append(ImageHierarchy(sources, counts, names, encoded))
        return renamed(expression, names)

    def _number_of(self, attribute: Attribute) -> int:
        return next(n for n, h in enumerate(self.hierarchies) if attribute in h.names.values())

    def _coded(self, source: Source) -> Coded | None:
        """Return the codes of a source; None for an expression that fails in some row."""

        def make() -> Coded | None:
            match source:
                case "live":
                    assert self.fact.live is not None
                    live = self.fact.live[self.first_row :].view(np.uint8)
                    return Coded(live, (pa.array([False, True]),))
                case (Attribute(path=(), name=name) as own,) if not self._is_grouped_key(own):
                    return column_codes(self.fact.rows.coded(name).slice(self.first_row))
                case tuple():
                    return self._dimension_codes(source)
                case _:
                    coded = self._units(source) or self._any_branch(source)
                    if coded is not None:
                        return coded
                    try:
                        encoded = encode_column(self.values_of(source))
                    except DataError:
                        return None
                    return Coded(
                        narrow_codes(encoded.codes, encoded.cardinality), (encoded.values,)
                    )

        found: Coded | None = self._keep("codes", source, make)
        return found

    def _units(self, source: Expression) -> Coded | None:
        """Return the day or the hour of each TIMESTAMP as a code; None for other expressions."""
        match source:
            case Call(
                function="date_trunc",
                arguments=(Literal(value=unit), Attribute(path=(), name=name, type=kind)),
            ) if unit in CODED_UNITS and kind == MOMENT:
                moments = self.fact.rows.column(name).slice(self.first_row)
                return unit_codes(moments, CODED_UNITS[unit])
            case _:
                return None

    def _any_branch(self, source: Expression) -> Coded | None:
        """Return which rows pass a condition with OR, see `column_codes`; None for others."""
        branches = [[self._coded_part(part) for part in each] for each in branches_of(source)]
        passes = rows_of_any(branches, self.row_count)
        return None if passes is None else Coded(passes, (pa.array([False, True]),))

    def _coded_part(self, part: Expression) -> CodedPart | None:
        """Return the codes that a condition depends on, and for which of them it holds."""
        whole, sources = self._over_codes(part)
        if sources is None or len(sources) > 1:
            # Of a column that other constants may be compared with the codes are kept.
            column = tuple(attributes_of(part))
            is_own = len(column) == 1 and not column[0].path and is_whole(column[0].type)
            whole, sources = part, (column if is_own else part,)
        coded = self._coded(sources[0])
        if coded is None:
            return None
        try:
            holds = value_of_codes(whole, sources[0], coded)
        except DataError:
            return None
        return CodedPart(coded.codes, pc.fill_null(holds, False).to_numpy(zero_copy_only=False))

    def _is_grouped_key(self, attribute: Attribute) -> bool:
        """Tell whether a column is a foreign key by which the query groups."""
        key = key_of(attribute, self.fact.definition)
        return key is not None and attribute in self.together.get(key, ())

    def _dimension_codes(self, attributes: tuple[Attribute, ...]) -> Coded:
        """Code the tuples of attributes behind one foreign key that occur; NULL for no partner."""
        key = key_of(attributes[0], self.fact.definition)
        assert key is not None
        rows = self.fact.foreign_rows[key][self.first_row :]
        # A row without a partner has -1, which takes the last value: NULL.
        occurs = np.zeros(self.tables[key.table].row_count + 1, np.bool_)
        occurs[rows] = True
        known = np.flatnonzero(occurs)
        some = None if occurs[:-1].all() else known[known < len(occurs) - 1].astype(np.uint32)
        inputs = dimension_values(self.tables, key, attributes, some)
        columns = [encode_column(inputs[each].slice(0, len(known))) for each in attributes]
        codes, tuples = join_codes(columns)
        values = tuple(
            column.values.take(pa.array(tuples[:, place])) for place, column in enumerate(columns)
        )
        narrow = narrow_codes(codes, len(tuples))
        code_of = np.zeros(len(occurs), narrow.dtype)
        code_of[known] = narrow
        return Coded(code_of[rows], values)

    def _keep(self, kind: str, source: Source, make: Callable[[], Any]) -> Any:
        """Make arrays of every row once."""

        def compute() -> Any:
            return beside(make, self.row_count)

        if isinstance(source, str):
            return self.cache.get((self.fact.live,), self._what(kind, source), compute)
        attributes = source if isinstance(source, tuple) else attributes_of(source)
        names = {key.table for attribute in attributes for key in attribute.path}
        owners = (self.fact.rows, *(self.tables[name].rows for name in sorted(names)))
        return self.cache.get(owners, self._what(kind, source), compute)

    def _what(self, kind: str, source: object) -> object:
        return kind, self.fact.name, self.first_row, source


def _outermost(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Change the outermost parts of an expression that `change` makes something else of."""
    changed = change(expression)
    if changed is not expression or not isinstance(expression, Call):
        return changed
    arguments = tuple(_outermost(argument, change) for argument in expression.arguments)
    return replace(expression, arguments=arguments)
