"""The fused path without a BVH: a star as one pass over the fact table's rows.

Predicates and keys are evaluated once for each row of a dimension, or for each value of a small
column of the fact table, and looked up through the foreign keys (engine/fused/table_scan.py). A row
costs some nanoseconds, whatever the query: more than in a BVH that covers it, less than fetching by
row id.
"""

from __future__ import annotations

from math import ceil, prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import DataError
from raydb.kernels.backends.aggregates import AGGREGATES
from raydb.kernels.backends.choice import ELSE
from raydb.kernels.codecs.arrow_numbers import is_whole, to_numbers
from raydb.late import pc
from raydb.planner.catalog import guessed
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import AggregateCall, Attribute, Expression, attributes_of
from raydb.planner.expressions.registry import may_raise
from raydb.planner.expressions.show import show
from raydb.planner.plan.nodes.aggregate import GroupedRows
from raydb.planner.stars.answers import (
    asks_values,
    chosen_row,
    is_wide,
    may_be_accumulated,
)
from raydb.planner.stars.fused_scan import DENSE_GROUPS
from raydb.planner.stars.instants import by_unit, count_by_unit
from raydb.storage.tables.decoded import value_bytes
from raydb.storage.tables.sample import estimated_count
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.planner.catalog import CatalogInfo, TableInfo
    from raydb.planner.plan.nodes import Star
    from raydb.planner.plan.nodes.node import Calls, Items
    from raydb.storage.tables.table import ForeignKey, TableDefinition

# Below this many rows the general path takes a few milliseconds, and less to get ready.
MIN_ROWS = 100_000

# Whole numbers that span so many have codes of two bytes.
SMALL_SPAN = 2**16

# The largest number of a sample that leaves room for larger ones in 64 bits.
LARGEST_SAMPLED = 2**59

# Where at most this share of the rows passes, there may be more groups than accumulators.
_FEW_LEFT = 0.5
MOST_GROUPS = 2**60

# What a scan keeps of each row: the code of a text, of a dimension's row, or a number.
_CODE_BYTES = 4
_NUMBER_BYTES = 8


@dataclass(frozen=True, eq=False, slots=True)
class FusedTableScan(GroupedRows):
    """A star as one pass over the rows of its fact table, from `first_row` on.

    reason: why no BVH runs it.
    """

    explain_name = "FusedTableScan"

    star: Star
    backends: tuple[str, ...]
    backend_reason: str
    reason: str
    row_count: int
    first_row: int = 0

    @property
    def details(self) -> dict[str, Any]:
        """What EXPLAIN says of the pass."""
        return {
            "table": self.star.fact,
            "no_bvh": self.reason,
            "rows_touched": self.row_count,
            "backend": ELSE.join(self.backends),
            "backend_reason": self.backend_reason,
        }

    @staticmethod
    def lines(said: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lines of EXPLAIN for the details."""
        return {
            "no bvh": said["no_bvh"],
            "rows": said["rows_touched"],
            "backend": f"{said['backend']} ({said['backend_reason']})",
        }

    @property
    def keys(self) -> Items:
        """The group keys."""
        return self.star.keys

    @property
    def aggregates(self) -> Calls:
        """The aggregates."""
        return self.star.aggregates


def scan_obstacle(star: Star, catalog: CatalogInfo, least_rows: int | None = None) -> str | None:
    """Say why a star can't run as a pass over its fact table, None where it can.

    least_rows: of the table; by default it is MIN_ROWS.
    """
    return next(_scan_obstacles(star, catalog, least_rows), None)


def scan_obstacles(star: Star, catalog: CatalogInfo) -> list[str]:
    """Return all that keeps a star from running as a pass over its fact table."""
    return list(dict.fromkeys(_scan_obstacles(star, catalog, None)))


def _scan_obstacles(star: Star, catalog: CatalogInfo, least_rows: int | None) -> Iterator[str]:
    least_rows = MIN_ROWS if least_rows is None else least_rows
    if catalog.tables[star.fact].row_count < least_rows:
        yield f"'{star.fact}' has less than {least_rows} rows"
    if catalog.tables[star.fact].is_streamed:
        yield f"{star.fact} is read block by block"
    for _, call in star.aggregates:
        yield from _call_obstacles(call, star, catalog)
    asked = [call.arguments[0] for _, call in star.aggregates if asks_values(call)]
    for expression in (*star.predicates, *(key for _, key in star.keys), *asked):
        for attribute in attributes_of(expression):
            if not has_codes(_table_of(attribute, star, catalog).sample[attribute.name].type):
                yield f"'{attribute.name}' is of a type that has no codes"
    for _, key in star.keys:
        if not has_codes(key.type):
            yield f"{show(key)} is of a type that has no codes"
    yield from _group_obstacles(star, catalog)


def _group_obstacles(star: Star, catalog: CatalogInfo) -> Iterator[str]:
    """Yield why a pass would have too many groups, and of what."""
    keys = [key for _, key in star.keys]
    yield from _tuple_obstacles(keys, star, catalog)
    asked = [
        call.arguments[0]
        for _, call in star.aggregates
        if asks_values(call) and has_few_values(call.arguments[0], star, catalog)
    ]
    tuples = [keys, *((expression,) for expression in asked)]
    counts = [group_count(each, star, catalog) for each in tuples]
    if None not in counts:
        most = prod(filter(None, counts))
        if most > DENSE_GROUPS:
            left = [group_count(each, star, catalog, filtered=True) for each in tuples]
            most = min(most, prod(filter(None, left)))
        # Few rows that pass are numbered by their groups, which takes as long for any groups.
        if most > DENSE_GROUPS and (
            asked or most >= MOST_GROUPS or share_left(star, catalog) > _FEW_LEFT
        ):
            listed = ", ".join(map(show, (*keys, *asked)))
            yield f"{listed} may have {most} groups, more than the {DENSE_GROUPS} of one pass"
        return
    for expression in (*keys, *asked):
        if group_count((expression,), star, catalog) is None:
            yield f"{show(expression)} may have a group for each row"


def _tuple_obstacles(keys: Iterable[Expression], star: Star, catalog: CatalogInfo) -> Iterator[str]:
    """Yield which table has more tuples of several keys to number than a join would meet."""
    behind: dict[str, set[Attribute]] = {}
    for attribute in {each for key in keys for each in attributes_of(key) if each.path}:
        behind.setdefault(attribute.path[0].table, set()).add(attribute)
    fact = catalog.tables[star.fact]
    for table, attributes in behind.items():
        if len(attributes) > 1 and catalog.tables[table].row_count > fact.row_count:
            yield f"the keys lie in '{table}', which has more rows than '{star.fact}'"


def _call_obstacles(call: AggregateCall, star: Star, catalog: CatalogInfo) -> Iterator[str]:
    """Yield why a scan does not answer an aggregate."""
    if asks_values(call) and has_few_values(call.arguments[0], star, catalog):
        return
    if chosen_row(call) is not None:
        return
    kind = call.arguments[0].type if call.arguments else call.type
    if not asks_values(call) and may_be_accumulated(call):
        if is_wide(kind) and not _fits_int64(call.arguments[0], star, catalog):
            yield f"{call.shown.upper()} over {sql_type_name(kind)} may not fit 64 bits"
    elif pa.types.is_uint64(kind) and not call.distinct and call.function in AGGREGATES:
        yield f"{call.shown.upper()} over {sql_type_name(kind)} may not fit 64 bits"
    else:
        # To number all rows first takes longer than to join and to group them: a BVH leaves most
        # of them out.
        listed = ", ".join(map(show, call.arguments))
        yield f"{call.shown.upper()} over too many values of {listed}"


def _fits_int64(argument: Expression, star: Star, catalog: CatalogInfo) -> bool:
    """Whether a wide number's values fit 64 bits as far as samples know; a scan looks at all."""
    fact = catalog.tables[star.fact]
    asked = "largest", argument
    largest = guessed(fact, asked, lambda: _largest_sampled(argument, star, catalog))
    return largest is not None and largest < LARGEST_SAMPLED


def _largest_sampled(argument: Expression, star: Star, catalog: CatalogInfo) -> int | None:
    """Return the largest unscaled number that comes of samples, None where that is not known.

    Samples of several tables are put side by side as they are: what matters is how large they are.
    """
    inputs = {
        each: _table_of(each, star, catalog).sample[each.name] for each in attributes_of(argument)
    }
    row_count = min(map(len, inputs.values()), default=0)
    if not row_count or any(sample.type != each.type for each, sample in inputs.items()):
        return None
    try:
        values = evaluate(
            argument, {each: sample[:row_count] for each, sample in inputs.items()}, row_count
        )
        numbers, _ = to_numbers(values)
    except DataError:
        return None
    return int(np.abs(numbers).max())


def has_few_values(argument: Expression, star: Star, catalog: CatalogInfo) -> bool:
    """Whether the values of an expression may be made a further group key."""
    fails = may_raise(argument) and by_unit(argument) is None  # Each moment has its day.
    return not fails and group_count((argument,), star, catalog) is not None


def scan_bytes(star: Star, catalog: CatalogInfo) -> int:
    """Return about how many bytes a scan needs: columns that files hold, and codes or numbers.

    What is computed for every row is there twice, as a value and as what comes of it; a column of a
    file is so as well while it is decoded, in the file's type and in its own.
    """
    expressions = (
        *star.predicates,
        *(key for _, key in star.keys),
        *(argument for _, call in star.aggregates for argument in call.arguments),
    )
    fact = catalog.tables[star.fact]
    computed = {each for each in expressions if not isinstance(each, Attribute)}
    row_bytes = sum(2 * value_bytes(each.type) for each in computed)
    # Ranks, rows, and the order of rows that is made of them.
    row_bytes += sum(3 * _NUMBER_BYTES for _, call in star.aggregates if chosen_row(call))
    for attribute in {each for part in expressions for each in attributes_of(part)}:
        if attribute.path:
            row_bytes += _CODE_BYTES
            continue
        kind = fact.definition.schema.field(attribute.name).type
        width = value_bytes(kind)
        row_bytes += min(width, _NUMBER_BYTES)
        row_bytes += 2 * width if fact.is_encoded[attribute.name] else 0
    return row_bytes * fact.row_count


def group_count(
    keys: Iterable[Expression], star: Star, catalog: CatalogInfo, *, filtered: bool = False
) -> int | None:
    """Return how many tuples of values keys have at most, None where that may be one a row.

    Those behind one foreign key, and the key itself, have no more than its table has rows.
    filtered: guess how many the predicates over dimensions leave.
    """
    fact = catalog.tables[star.fact].definition
    behind: dict[ForeignKey, int] = {}
    count = 1
    for key in keys:
        places = {key_of(attribute, fact) for attribute in attributes_of(key)}
        only = places.pop() if len(places) == 1 else None
        values = value_count(key, star, catalog, filtered=filtered)
        if only is not None:
            # NULL is one more.
            rows = catalog.tables[only.table].row_count + 1
            behind[only] = min(rows, behind.get(only, 1) * (rows if values is None else values))
        elif values is None:
            return None
        else:
            count *= values
    return count * prod(behind.values())


def key_of(attribute: Attribute, fact: TableDefinition) -> ForeignKey | None:
    """Return the foreign key that an attribute lies behind, or is itself as its only column."""
    if attribute.path:
        return attribute.path[0]
    return next((k for k in fact.foreign_keys if k.columns == (attribute.name,)), None)


def value_count(
    expression: Expression, star: Star, catalog: CatalogInfo, *, filtered: bool = False
) -> int | None:
    """Guess how many values an expression has, None where that may be nearly one a row.

    filtered: in the rows of dimensions that the predicates over them leave.
    """
    count = 1
    units = by_unit(expression)
    if units is not None:
        (moment,) = attributes_of(expression)
        fact = catalog.tables[star.fact]
        distinct = _distinct_count(moment.name, fact)
        return count_by_unit(expression, fact.sample[moment.name]) if distinct is None else distinct
    for attribute in attributes_of(expression):
        table = _table_of(attribute, star, catalog)
        distinct = _distinct_count(attribute.name, table)
        if distinct is None and not attribute.path:
            return _sampled_count(expression, catalog.tables[star.fact])
        every = table.row_count if distinct is None else distinct
        left = _count_left(attribute, star, table) if filtered and attribute.path else every
        count *= min(every, left)
    return count


def _count_left(attribute: Attribute, star: Star, table: TableInfo) -> int:
    """Guess how many values a dimension has in the rows that the predicates over it alone leave."""

    def count() -> int:
        sample = table.sample[attribute.name]
        kept = sample.filter(pa.array(_passing(asking, attribute, table)))
        if not len(kept):
            return table.row_count
        return ceil(estimated_count(kept, len(kept) / len(sample) * table.row_count, 1))

    asking = _asking(attribute, star)
    return guessed(table, ("left", attribute.name, asking), count)


def _asking(attribute: Attribute, star: Star) -> tuple[Expression, ...]:
    """Return the predicates that ask the table of an attribute alone."""
    return tuple(
        [
            predicate
            for predicate in star.predicates
            if {each.path for each in attributes_of(predicate)} == {attribute.path}
            and not may_raise(predicate)
        ]
    )


def _passing(
    asking: tuple[Expression, ...], attribute: Attribute, table: TableInfo
) -> NDArray[np.bool_]:
    """Return for which rows of a table's sample the predicates hold that ask that table alone."""
    row_count = len(table.sample[attribute.name])
    return guessed(table, asking, lambda: _passing_all(asking, table, row_count))


def _passing_all(
    predicates: Sequence[Expression], table: TableInfo, row_count: int
) -> NDArray[np.bool_]:
    passing = np.ones(row_count, np.bool_)
    for predicate in predicates:
        inputs: dict[Expression, pa.Array]
        inputs = {each: table.sample[each.name] for each in attributes_of(predicate)}
        if all(values.type == each.type for each, values in inputs.items()):
            mask = evaluate(predicate, inputs, row_count)
            passing &= pc.fill_null(mask, False).to_numpy(zero_copy_only=False)
    return passing


def share_left(star: Star, catalog: CatalogInfo) -> float:
    """Guess which share of the fact table's rows the predicates over one table each leave."""
    places = {each.path: each for part in star.predicates for each in attributes_of(part)}
    share = 1.0
    for attribute in places.values():
        table = _table_of(attribute, star, catalog)
        passing = _passing(_asking(attribute, star), attribute, table)
        # None of a sample is few of a table.
        share *= max(float(passing.mean()), 1 / len(passing)) if len(passing) else 1.0
    return share


def _distinct_count(column: str, table: TableInfo) -> int | None:
    """Return what `is_small` says of a column of a table."""
    return guessed(table, column, lambda: is_small(table.sample[column]))


def _sampled_count(expression: Expression, fact: TableInfo) -> int | None:
    """Guess from some rows how many values comes of columns that have many, as floor(price / 10).

    None where that may be nearly one a row.
    """
    return guessed(fact, expression, lambda: _count_in_sample(expression, fact))


def _count_in_sample(expression: Expression, fact: TableInfo) -> int | None:
    attributes = attributes_of(expression)
    if isinstance(expression, Attribute) or any(attribute.path for attribute in attributes):
        return None
    inputs: dict[Expression, pa.Array] = {each: fact.sample[each.name] for each in attributes}
    if any(values.type != each.type for each, values in inputs.items()):
        return None  # A sample may be of codes.
    try:
        values = evaluate(expression, inputs, len(next(iter(inputs.values()))))
    except DataError:
        return None
    return is_small(values)


def is_small(sample: pa.Array) -> int | None:
    """Return how many values a column has, None for one that has many, as far as a sample tells.

    They are few where the sample repeats them, or where whole numbers, as dates are, span little.
    """
    if not has_codes(sample.type):
        return None
    count: int = pc.count_distinct(sample).as_py()
    if count * 2 <= len(sample):
        return count
    span = _span(sample)
    return span if span is not None and count <= span <= SMALL_SPAN else None


def _span(sample: pa.Array) -> int | None:
    """Return how many whole numbers lie between the least and the greatest, both included."""
    if not is_whole(sample.type):
        return None
    try:
        numbers, valid = to_numbers(sample)
    except DataError:
        return None
    known = numbers if valid is None else numbers[valid]
    return int(known.max()) - int(known.min()) + 1 if len(known) else None


def has_codes(data_type: pa.DataType) -> bool:
    """Whether a column becomes codes, which Arrow finds by sorting: neither lists nor intervals."""
    return not (pa.types.is_nested(data_type) or pa.types.is_interval(data_type))


def _table_of(attribute: Attribute, star: Star, catalog: CatalogInfo) -> TableInfo:
    last: ForeignKey | None = attribute.path[-1] if attribute.path else None
    return catalog.tables[star.fact if last is None else last.table]
