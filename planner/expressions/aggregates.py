"""Aggregates and window functions: their names, arguments and results, and what they do.

Each is one entry, as scalar functions are: its signature (see `signature.py`), what it does with an
example and the answer to that, and a binder where the signature does not say enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import AggregateCall, Expression, Literal
from raydb.planner.expressions.signature import (
    Signature,
    check_count,
    read_signature,
    require_integer,
    require_number,
    require_order,
)
from raydb.planner.expressions.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    HUGEINT,
    INTEGER,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    can_cast,
    is_array,
    is_decimal,
    is_float,
    is_integer,
    is_moment,
    is_number,
)
from raydb.planner.expressions.typing_rules import as_boolean, cast, typed
from raydb.storage.bits import BIT
from raydb.storage.integers import UHUGEINT
from raydb.storage.tables.constraints import is_vector
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """A function of the rows of a group, or of those around a row.

    name: how calls name it, the first of SQL's names. says: "meaning: example -> answer". bind:
    returns the call of `bind(name, *arguments)`, where the signature does not say enough.
    """

    name: str
    signature: Signature
    says: str
    bind: Callable[..., AggregateCall] | None = None


# Aggregates whose result depends on the order of the rows.
ORDERED_AGGREGATES = frozenset(
    {"any_value", "arg_max", "arg_min", "first", "last", "list", "string_agg"}
)
# Aggregates that see the rows whose argument is NULL.
SEES_NULLS = frozenset({"first", "last", "list"})
# Aggregates that give the same with and without DISTINCT.
_INDIFFERENT_TO_REPEATS = frozenset(
    {"any_value", "arg_max", "arg_min", "bit_and", "bit_or", "bool_and", "bool_or", "max", "min"}
)


def is_aggregate(name: str) -> bool:
    """Say whether a function is an aggregate."""
    return name in AGGREGATES or name in WITHIN_GROUP


def bind_aggregate(name: str, arguments: Sequence[Expression], distinct: bool) -> AggregateCall:
    """Return a call of an aggregate with its result type."""
    if name not in AGGREGATES:
        raise ProgrammingError(f"{name}() needs WITHIN GROUP (ORDER BY ...)")
    function = AGGREGATES[name]
    function.signature.check_count(name, len(arguments))
    if function.bind is None:
        call = AggregateCall(function.name, *function.signature.check(name, arguments))
    else:
        call = function.bind(name, *arguments)
    if not distinct or call.function in _INDIFFERENT_TO_REPEATS:
        return call
    if call.filter is not None:
        raise NotSupportedError(f"{name}(DISTINCT ...) is not supported")
    if not call.arguments:  # count(DISTINCT 1)
        return AggregateCall("count", tuple(arguments), call.type, distinct=True)
    return replace(call, distinct=True)


def bind_within_group(
    name: str, arguments: Sequence[Expression], key: Expression, descending: bool
) -> AggregateCall:
    """Return a call such as percentile_cont(0.5) WITHIN GROUP (ORDER BY key)."""
    if name not in WITHIN_GROUP:
        raise ProgrammingError(f"{name}() does not take WITHIN GROUP")
    if name == "mode":
        check_count(name, 0, 0, len(arguments))
        call = bind_aggregate("mode", (key,), distinct=False)
    else:
        check_count(name, 1, 1, len(arguments))
        bind = _quantile_cont if name == "percentile_cont" else _quantile_disc
        call = bind(name, key, *arguments)
    return backward(call) if descending else call


def backward(call: AggregateCall) -> AggregateCall:
    """Return an aggregate of ordered values that counts from their greatest."""
    if call.function == "mode":
        raise NotSupportedError("mode() of values in descending order is not supported")
    return replace(call, arguments=(*call.arguments, Literal(True, BOOLEAN)))


def _count(_: str, *arguments: Expression) -> AggregateCall:
    argument = typed(arguments[0], INTEGER)
    if isinstance(argument, Literal) and argument.value is not None:
        return AggregateCall("count_star", (), BIGINT)
    return AggregateCall("count", (argument,), BIGINT)


def _count_distinct(_: str, argument: Expression) -> AggregateCall:
    return AggregateCall("count", (typed(argument, INTEGER),), BIGINT, distinct=True)


def _count_if(name: str, argument: Expression) -> AggregateCall:
    return AggregateCall("count_star", (), BIGINT, filter=as_boolean(argument, f"{name}()"))


def _sum(name: str, argument: Expression) -> AggregateCall:
    """The sum of TINYINT to INTEGER is BIGINT, that of BIGINT HUGEINT, of DECIMAL(p,s) (38,s).

    That of UHUGEINT is DOUBLE, and a condition counts the rows for which it is true, as in DuckDB.
    Vectors are added up number by number, as in pgvector.
    """
    vector = _as_vector(argument)
    if vector is not None:
        return AggregateCall("vector_sum", (vector,), vector.type)
    argument = cast(argument, INTEGER) if argument.type == BOOLEAN else argument
    argument = require_number(name, argument)
    kind = argument.type
    if is_integer(kind):
        return AggregateCall("sum", (argument,), HUGEINT if kind.bit_width == 64 else BIGINT)
    if kind == UHUGEINT:
        return AggregateCall("sum", (cast(argument, DOUBLE),), DOUBLE)
    exact = pa.decimal128(38, kind.scale) if is_decimal(kind) else DOUBLE
    return AggregateCall("sum", (argument,), exact)


def _avg(name: str, argument: Expression) -> AggregateCall:
    vector = _as_vector(argument)
    if vector is not None:
        return AggregateCall("vector_avg", (vector,), vector.type)
    return AggregateCall("avg", (require_number(name, argument),), DOUBLE)


def _as_vector(argument: Expression) -> Expression | None:
    """Return an argument that is a vector, TINYINT[n] as DOUBLE[n]; None for any other."""
    kind = argument.type
    if is_array(kind) and kind.value_type == pa.int8():
        return cast(argument, pa.list_(DOUBLE, kind.list_size))
    return argument if is_vector(kind) else None


def _bits(name: str, argument: Expression) -> AggregateCall:
    argument = argument if argument.type == BIT else require_integer(name, argument)
    return AggregateCall(name, (argument,), argument.type)


def _median(name: str, argument: Expression) -> AggregateCall:
    return _quantile_cont(name, argument, Literal(0.5, DOUBLE))


def _quantile_cont(name: str, argument: Expression, fraction: Expression) -> AggregateCall:
    argument, kind = typed(argument, DOUBLE), DOUBLE
    if is_moment(argument.type) or argument.type == TIME:
        keeps = argument.type in (TIMESTAMPTZ, TIMESTAMP_NS, TIME)
        argument = cast(argument, kind := argument.type if keeps else TIMESTAMP)
    else:
        require_number(name, argument)
    return AggregateCall("quantile_cont", (argument, _fraction(name, fraction)), kind)


def _quantile_disc(name: str, argument: Expression, fraction: Expression) -> AggregateCall:
    argument = require_order(name, argument)
    return AggregateCall("quantile_disc", (argument, _fraction(name, fraction)), argument.type)


def _approx_quantile(name: str, argument: Expression, fraction: Expression) -> AggregateCall:
    """The exact quantile, of the argument's type: interpolated where that is one of fractions."""
    bind = _quantile_cont if is_float(argument.type) else _quantile_disc
    return bind(name, argument, fraction)


def _fraction(name: str, argument: Expression) -> Literal:
    """Return the fraction of a quantile, a constant from 0 to 1."""
    if isinstance(argument, Literal) and is_number(argument.type) and argument.value is not None:
        if 0 <= argument.value <= 1:
            return Literal(float(argument.value), DOUBLE)
        raise ProgrammingError(f"{name}() needs a fraction from 0 to 1, not {argument.value}")
    if isinstance(argument, Literal):
        raise ProgrammingError(f"{name}() needs a fraction from 0 to 1, not {describe(argument)}")
    raise NotSupportedError(f"{name}() of a fraction that is not a constant is not supported")


def _string_agg(name: str, argument: Expression, *separators: Expression) -> AggregateCall:
    argument = typed(argument, TEXT)
    if not can_cast(argument.type, TEXT):
        raise ProgrammingError(f"{name}() needs a string, not {describe(argument)}")
    separator = typed(separators[0], TEXT) if separators else Literal(",", TEXT)
    if not isinstance(separator, Literal):
        raise NotSupportedError(
            f"{name}() with a separator that is not a constant is not supported"
        )
    if separator.type != TEXT:
        raise ProgrammingError(f"{name}() needs a string to separate, not {describe(separator)}")
    text = Literal(separator.value or "", TEXT)
    return AggregateCall("string_agg", (cast(argument, TEXT), text), TEXT)


def _list(_: str, argument: Expression) -> AggregateCall:
    argument = typed(argument, INTEGER)
    return AggregateCall("list", (argument,), pa.list_(argument.type))


def _no_call(name: str, *_: Expression) -> AggregateCall:
    """Stand for what is made of other aggregates, as histogram() is of list()."""
    raise AssertionError(name)


def _table(
    *rows: tuple[str, str] | tuple[str, str, Callable[..., AggregateCall]],
) -> tuple[AggregateFunction, ...]:
    """Return functions of their signatures, what they say, and binders where there are any."""
    read = [(read_signature(row[0], is_bound=len(row) == 3), *row[1:]) for row in rows]
    return tuple(AggregateFunction(next(iter(each[0].arities), ""), *each) for each in read)


# Those of numbers whose result is a DOUBLE.
_STATISTICS = (
    ("var_samp(x), variance(x)", "sample variance: variance(x) FROM s WHERE g = 1 -> 50.0"),
    ("var_pop(x)", "population variance: var_pop(x) FROM s WHERE g = 1 -> 25.0"),
    (
        "stddev_samp(x), stddev(x)",
        "sample standard deviation: round(stddev(x), 4) FROM s -> 15.2753",
    ),
    ("stddev_pop(x)", "population standard deviation: stddev_pop(x) FROM s WHERE g = 1 -> 5.0"),
    ("skewness(x)", "skewness: round(skewness(x), 4) FROM s -> 0.9352"),
    (
        "kurtosis(x)",
        "excess kurtosis; NULL for fewer than four values:"
        " round(kurtosis(v), 4) FROM unnest([1, 2, 3, 4]) AS u (v) -> -1.2",
    ),
    (
        "kurtosis_pop(x)",
        "excess kurtosis of the population:"
        " round(kurtosis_pop(v), 4) FROM unnest([1, 2, 3, 4]) AS u (v) -> -1.36",
    ),
    ("sem(x)", "standard error of the mean: round(sem(x), 4) FROM s -> 7.2008"),
    ("covar_pop(y, x)", "population covariance: round(covar_pop(y, x), 4) FROM s -> 12.7778"),
    ("covar_samp(y, x)", "sample covariance: covar_samp(y, x) FROM s WHERE g = 1 -> 5.0"),
    ("corr(y, x)", "correlation: round(corr(y, x), 4) FROM s -> 0.9972"),
    (
        "regr_slope(y, x)",
        "slope of the line through the points: round(regr_slope(y, x), 4) FROM s -> 0.0821",
    ),
    ("regr_intercept(y, x)", "where it meets x = 0: round(regr_intercept(y, x), 4) FROM s -> 0.75"),
    ("regr_r2(y, x)", "coefficient of determination: round(regr_r2(y, x), 4) FROM s -> 0.9944"),
    (
        "regr_avgx(y, x)",
        "average of `x` over the pairs: round(regr_avgx(y, x), 4) FROM s -> 23.3333",
    ),
    (
        "regr_avgy(y, x)",
        "average of `y` over the pairs: round(regr_avgy(y, x), 4) FROM s -> 2.6667",
    ),
    ("regr_sxx(y, x)", "sum of squares of `x`: round(regr_sxx(y, x), 4) FROM s -> 466.6667"),
    ("regr_syy(y, x)", "sum of squares of `y`: round(regr_syy(y, x), 4) FROM s -> 3.1667"),
    ("regr_sxy(y, x)", "sum of products: round(regr_sxy(y, x), 4) FROM s -> 38.3333"),
)
# In the order of the reference. The examples are over its table s.
AGGREGATE_TABLE = _table(
    ("count(*)", "number of rows: count(*) FROM s -> 4", _count),
    ("count(a)", "number of values: count(x), count(DISTINCT t) FROM s -> 3 | 2", _count),
    (
        "count_if(condition), countif(condition)",
        "number of rows for which it is true: count_if(x > 10) FROM s -> 2",
        _count_if,
    ),
    (
        "sum(x)",
        "sum, of a condition the rows that fulfil it, of vectors `FLOAT[n]` one:"
        " sum(x), sum(ok) FROM s -> 70 | 2",
        _sum,
    ),
    (
        "avg(x), mean(x)",
        "average, a DOUBLE, of vectors `FLOAT[n]` one: avg(y) FROM s -> 2.6666666666666665",
        _avg,
    ),
    (
        "geomean(x), geometric_mean(x)",
        "geometric mean: round(geomean(x), 6) FROM s -> 20.0",
        _no_call,
    ),
    (
        "weighted_avg(x, weight), wavg(x, weight)",
        "average in which values count as often as their weights say:"
        " weighted_avg(x, g) FROM s WHERE ok -> 30.0",
        _no_call,
    ),
    (
        "fsum(x), kahan_sum(x), sumkahan(x)",
        "sum of doubles that is rounded once, at its end: fsum(y * 0.1) FROM s -> 0.8",
        _no_call,
    ),
    ("favg(x)", "the average of that sum: favg(y) FROM s WHERE g = 1 -> 2.0", _no_call),
    ("min(a: key) -> a", "least value, of min(a, n) a list of the n least: min(t) FROM s -> 'a'"),
    ("max(a: key) -> a", "greatest value, and the greatest: max(x) FROM s -> 40"),
    ("product(x) -> DOUBLE", "product, a DOUBLE: product(y) FROM s -> 15.0"),
    (
        "any_value(a), arbitrary(a) -> a",
        "some value: any_value(t) FROM s WHERE g = 1 AND x = 10 -> 'a'",
    ),
    (
        "first(a) -> a",
        "the value of the first row, NULL too: first(x ORDER BY x DESC NULLS LAST) FROM s -> 40",
    ),
    ("last(a) -> a", "the value of the last row: last(t ORDER BY x NULLS FIRST) FROM s -> 'b'"),
    (
        "arg_min(a, x: key), argmin(a, x), min_by(a, x) -> a",
        "the value where `x` is least: arg_min(t, x) FROM s -> 'a'",
    ),
    (
        "arg_max(a, x: key), argmax(a, x), max_by(a, x) -> a",
        "the value where `x` is greatest: arg_max(t, x) FROM s -> 'b'",
    ),
    (
        "arg_min_null(a, x)",
        "likewise, NULL where that is NULL: arg_min_null(t, x) FROM s -> 'a'",
        _no_call,
    ),
    (
        "arg_max_null(a, x)",
        "likewise of the greatest: arg_max_null(t, x) FROM s -> 'b'",
        _no_call,
    ),
    (
        "list(a), array_agg(a)",
        "all values, NULL too, as a list: list(x ORDER BY x) FROM s -> [10, 20, 40, NULL]",
        _list,
    ),
    (
        "string_agg(a [, separator]), group_concat(a [, separator]), listagg(a [, separator])",
        "all values as one text; the separator is `,` by default:"
        " string_agg(t, '-' ORDER BY t) FROM s -> 'a-b-b'",
        _string_agg,
    ),
    (
        "bool_and(condition), every(condition) -> BOOLEAN",
        "whether it is true for all: bool_and(ok) FROM s -> false",
    ),
    ("bool_or(condition) -> BOOLEAN", "whether it is true for any: bool_or(ok) FROM s -> true"),
    ("bit_and(n)", "bits set in all, also of BIT: bit_and(x) FROM s -> 0", _bits),
    ("bit_or(n)", "bits set in any: bit_or(x) FROM s -> 62", _bits),
    ("bit_xor(n)", "bits set in an odd number: bit_xor(x) FROM s -> 54", _bits),
    (
        "bitstring_agg(n, least, greatest)",
        "the BIT of all numbers from one to another, set where there is one:"
        " bitstring_agg(g, 0, 3)::VARCHAR FROM s -> '0110'",
        _no_call,
    ),
    ("median(x)", "the middle value; of dates a TIMESTAMP: median(x) FROM s -> 20.0", _median),
    (
        "mode(a: key), mode() WITHIN GROUP (ORDER BY a) -> a",
        "the most frequent value, the least of several: mode(t) FROM s -> 'b'",
    ),
    (
        "quantile_cont(x, f), percentile_cont(f) WITHIN GROUP (ORDER BY x)",
        "the quantile of a fraction `f`, interpolated, or a list of those of a list:"
        " quantile_cont(x, [0.25, 0.5]) FROM s -> [15.0, 20.0]",
        _quantile_cont,
    ),
    (
        "quantile_disc(a, f), quantile(a, f), percentile_disc(f) WITHIN GROUP (ORDER BY a)",
        "the first value at or beyond the fraction:"
        " percentile_disc(0.5) WITHIN GROUP (ORDER BY t) FROM s -> 'b'",
        _quantile_disc,
    ),
    (
        "approx_quantile(a, f)",
        "the quantile of a fraction `f`; it is exact: approx_quantile(x, 0.5) FROM s -> 20",
        _approx_quantile,
    ),
    (
        "approx_count_distinct(a)",
        "number of different values; it is exact: approx_count_distinct(t) FROM s -> 2",
        _count_distinct,
    ),
    (
        "histogram(a [, bins])",
        "how often each value occurs, a MAP; with a list of bins how many values are up to each,"
        " and beyond: histogram(t) FROM s -> {'a': 1, 'b': 2}",
        _no_call,
    ),
    (
        "histogram_exact(a, bins)",
        "how often each value of a list occurs, a MAP, and all others:"
        " histogram_exact(t, ['b']) FROM s -> {'b': 2, '': 1}",
        _no_call,
    ),
    (
        "mad(x)",
        "median of the distances from the median, of dates and timestamps an INTERVAL:"
        " mad(x) FROM s -> 10.0",
        _no_call,
    ),
    (
        "json_group_array(a)",
        "the values as a JSON array: json_group_array(t ORDER BY x) FROM s WHERE ok ->"
        ' \'["a","b"]\'',
        _no_call,
    ),
    (
        "json_group_object(key, a)",
        "the values by their keys as a JSON object: json_group_object(t, x ORDER BY x) FROM s"
        ' WHERE ok -> \'{"a":10,"b":40}\'',
        _no_call,
    ),
    ("entropy(a) -> DOUBLE", "entropy of the values in bits: entropy(ok) > 0.9 FROM s -> true"),
    *((f"{signature} -> DOUBLE", says) for signature, says in _STATISTICS),
    ("regr_count(y, x) -> BIGINT", "number of pairs: regr_count(y, x) FROM s -> 3"),
)
_BY_X = "OVER (ORDER BY x) FROM s ORDER BY x"
_BY_T = "OVER (ORDER BY t) FROM s ORDER BY t"
_OF_TWO = "OVER (ORDER BY x) FROM s WHERE ok ORDER BY x"
WINDOW_TABLE = _table(
    (
        "row_number() -> BIGINT",
        f"the number of the row in its partition: row_number() {_BY_X} -> 1, 2, 3, 4",
    ),
    ("rank() -> BIGINT", f"the rank with gaps: rank() {_BY_T} -> 1, 2, 2, 4"),
    (
        "dense_rank() -> BIGINT",
        f"the rank without gaps, `rank_dense()` too: dense_rank() {_BY_T} -> 1, 2, 2, 3",
    ),
    ("percent_rank() -> DOUBLE", f"(rank - 1) / (rows - 1): percent_rank() {_OF_TWO} -> 0.0, 1.0"),
    (
        "cume_dist() -> DOUBLE",
        f"the share of rows up to this one: cume_dist() {_OF_TWO} -> 0.5, 1.0",
    ),
    ("ntile(n) -> INTEGER", f"which of `n` parts of equal size: ntile(2) {_BY_X} -> 1, 1, 2, 2"),
    (
        "lag(a [, n [, default: a]]) -> a",
        f"the value `n` rows before, by default 1: lag(x) {_BY_X} -> NULL, 10, 20, 40",
    ),
    (
        "lead(a [, n [, default: a]]) -> a",
        f"the value `n` rows after: lead(x, 1, 0) {_BY_X} -> 20, 40, NULL, 0",
    ),
    (
        "first_value(a) -> a",
        f"the first value of the frame: first_value(t) {_BY_X} -> 'a', 'a', 'a', 'a'",
    ),
    (
        "last_value(a) -> a",
        f"the last value of the frame: last_value(t) {_BY_X} -> 'a', 'b', 'b', NULL",
    ),
    (
        "nth_value(a, n) -> a",
        f"the n-th value of the frame: nth_value(x, 2) {_BY_X} -> NULL, 20, 20, 20",
    ),
)
# Of a list of fractions they give a list.
QUANTILES = frozenset(
    {
        *("quantile", "quantile_cont", "quantile_disc", "approx_quantile"),
        *("percentile_cont", "percentile_disc"),
    }
)
AGGREGATES = {name: each for each in AGGREGATE_TABLE for name in each.signature.arities}
WINDOW_FUNCTIONS = {each.name: each for each in WINDOW_TABLE}
# Aggregates with another name before WITHIN GROUP (ORDER BY x), and what they are.
WITHIN_GROUP = {
    "mode": "mode",
    "percentile_cont": "quantile_cont",
    "percentile_disc": "quantile_disc",
}
