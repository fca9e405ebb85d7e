"""Variances, correlations and regressions: sums of products of distances from the means.

The means come first and the distances from them second, so that nothing large is subtracted from
something large: `stddev` of 1e9 + {1, 2, 3} is 1.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.aggregate.exact_sums import as_doubles
from raydb.engine.operators.codes import group_rows
from raydb.kernels.backends.aggregates import VARIANCES
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.operators.aggregate.grouped import Grouped
    from raydb.planner.expressions.nodes import AggregateCall

    Doubles = NDArray[np.float64]
    Fold = Callable[[AggregateCall, Grouped], pa.Array]


@dataclass(frozen=True, eq=False, slots=True)
class Sums:
    """Of each group: its rows, the means of the arguments, and the sums that a statistic asks for.

    products: of the distances of the arguments from their means, each to a power.
    """

    sizes: NDArray[np.int64]
    means: list[Doubles]
    products: list[Doubles]


@dataclass(frozen=True, eq=False, slots=True)
class Statistic:
    """What comes of sums; powers: for each of them one power of each argument's distances."""

    finish: Callable[[Sums], pa.Array]
    powers: tuple[tuple[int, ...], ...]

    def __call__(self, _: AggregateCall, rows: Grouped) -> pa.Array:
        """Return the statistic of each group of rows in memory."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            return self.finish(sums_of(rows, self.powers))


def sums_of(rows: Grouped, powers: Sequence[tuple[int, ...]]) -> Sums:
    """Return the sums that a statistic asks for; those of several are made once."""
    if not rows.distances:
        rows.distances.extend(_distances(rows, argument) for argument in rows.arguments)
    distances = [each for each, _ in rows.distances]
    for each in powers:
        if each not in rows.products:
            rows.products[each] = rows.members.sums(product(distances, each))
    means = [means for _, means in rows.distances]
    return Sums(rows.members.sizes, means, [rows.products[each] for each in powers])


def product(distances: Sequence[Doubles], powers: Sequence[int]) -> Doubles:
    """Return the product of distances, each to its power.

    NumPy takes a logarithm for powers from 3 on, which takes twenty times as long.
    """
    factors = [each for each, power in zip(distances, powers, strict=True) for _ in range(power)]
    return functools.reduce(np.multiply, factors)


def _distances(rows: Grouped, argument: pa.ChunkedArray | pa.Array) -> tuple[Doubles, Doubles]:
    """Return each row's distance from the mean of its group, and the means."""
    values = as_doubles(argument)
    sizes = np.maximum(rows.members.sizes, 1)
    places = rows.members.numbers if rows.members.count != 1 else np.zeros(1, np.int64)
    means = rows.members.sums(values) / sizes
    distances = values - means[places]
    # The mean is rounded; what is left of the distances' sum corrects it.
    rest = rows.members.sums(distances) / sizes
    distances -= rest[places]
    return distances, means + rest


def _known(values: Doubles, known: NDArray[np.bool_]) -> pa.Array:
    return pa.array(values, mask=~known)


# -- of one argument


def _variance(finish: Callable[[Doubles], Doubles], freedom: int, sums: Sums) -> pa.Array:
    """Return the variance with n - freedom below the line, or its root."""
    (squares,) = sums.products
    return _known(finish(squares / np.maximum(sums.sizes - freedom, 1)), sums.sizes > freedom)


def _skewness(sums: Sums) -> pa.Array:
    """Return the sample skewness, corrected for its bias; needs three rows that differ."""
    second, third = sums.products
    known = (sums.sizes > 2) & (second != 0)
    n = np.where(known, sums.sizes.astype(np.float64), 3)
    deviation = np.where(known, second, 1) / n
    skewness = third / n / deviation**1.5
    return _known(skewness * np.sqrt(n * (n - 1)) / (n - 2), known)


def _kurtosis(sums: Sums) -> pa.Array:
    """Return the sample excess kurtosis, corrected for its bias; needs four rows that differ."""
    second, fourth = sums.products
    known = (sums.sizes > 3) & (second != 0)
    n = np.where(known, sums.sizes.astype(np.float64), 4)
    excess = n * (n + 1) * fourth * (n - 1) / np.where(known, second, 1) ** 2
    return _known((excess - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)), known)


def _population_kurtosis(sums: Sums) -> pa.Array:
    """Return the excess kurtosis of the population; needs two rows that differ."""
    second, fourth = sums.products
    known = second != 0
    return _known(sums.sizes * fourth / np.where(known, second, 1) ** 2 - 3, known)


def _mean_error(sums: Sums) -> pa.Array:
    """Return the deviation of the population by the root of the number of rows."""
    (squares,) = sums.products
    return _known(np.sqrt(squares) / np.maximum(sums.sizes, 1), sums.sizes > 0)


def _entropy(_: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the entropy of the values' frequencies, in bits."""
    pairs = group_rows(
        [pa.array(rows.members.numbers), rows.arguments[0]], len(rows.members.numbers)
    )
    counts = pairs.members.sizes
    groups = rows.members.numbers[pairs.rows]
    bits = np.bincount(groups, share_bits(counts, rows.members.sizes[groups]), rows.members.count)
    return _known(np.abs(bits), np.ones(rows.members.count, np.bool_))


def share_bits(counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Doubles:
    """Return what values that occur so often in groups of so many rows add to the entropy."""
    shares = counts / sizes
    return -shares * np.log2(shares)


# -- of pairs (y, x)


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """Of each group: n, sums of products of distances from the means, and the means."""

    n: Doubles
    yy: Doubles
    xx: Doubles
    xy: Doubles
    y_mean: Doubles
    x_mean: Doubles

    @property
    def slope(self) -> Doubles:
        """The slope of the line with the least squares; NaN where x has no variance."""
        return np.where(self.xx == 0, np.nan, self.xy / self.xx)


def _pair(finish: Callable[[Pairs], Doubles], least_rows: int, sums: Sums) -> pa.Array:
    """Return a statistic of pairs; NULL where it does not exist because a variance is zero."""
    (y_mean, x_mean), (yy, xx, xy) = sums.means, sums.products
    pairs = Pairs(sums.sizes.astype(np.float64), yy, xx, xy, y_mean, x_mean)
    results = finish(pairs)
    undefined = np.isnan(results) & ((yy == 0) | (xx == 0))
    return _known(np.where(undefined, 0.0, results), (pairs.n >= least_rows) & ~undefined)


def _r_squared(pairs: Pairs) -> Doubles:
    """Return the share of y's variance that x explains; 1 where y has none, as PostgreSQL."""
    share = pairs.xy * pairs.xy / (pairs.xx * pairs.yy)
    return np.where(pairs.xx > 0, np.where(pairs.yy == 0, 1.0, share), np.nan)


def _identity(values: Doubles) -> Doubles:
    return values


def _of_pairs(finish: Callable[[Pairs], Doubles], least_rows: int) -> Statistic:
    return Statistic(functools.partial(_pair, finish, least_rows), ((2, 0), (0, 2), (1, 1)))


# -- of parts, each with its average, population variance and count


def _variance_of_parts(function: str, _: AggregateCall, rows: Grouped) -> pa.Array:
    """Return a variance, or its root, of all rows of some parts (Chan and others, 1979)."""
    averages, variances, counts = map(as_doubles, rows.arguments)
    members = rows.members
    sizes = members.sums(counts)
    with np.errstate(invalid="ignore", over="ignore"):
        means = members.sums(averages * counts) / np.maximum(sizes, 1)
        distances = averages - means[members.numbers]
        squares = members.sums((variances + distances**2) * counts)
        sums = Sums(sizes.astype(np.int64), [means], [squares])
        return STATISTICS[function].finish(sums)


STATISTICS: Mapping[str, Statistic] = {
    "var_samp": Statistic(functools.partial(_variance, _identity, 1), ((2,),)),
    "var_pop": Statistic(functools.partial(_variance, _identity, 0), ((2,),)),
    "stddev_samp": Statistic(functools.partial(_variance, np.sqrt, 1), ((2,),)),
    "stddev_pop": Statistic(functools.partial(_variance, np.sqrt, 0), ((2,),)),
    "skewness": Statistic(_skewness, ((2,), (3,))),
    "kurtosis": Statistic(_kurtosis, ((2,), (4,))),
    "kurtosis_pop": Statistic(_population_kurtosis, ((2,), (4,))),
    "sem": Statistic(_mean_error, ((2,),)),
    "covar_pop": _of_pairs(lambda p: p.xy / p.n, 1),
    "covar_samp": _of_pairs(lambda p: p.xy / (p.n - 1), 2),
    "corr": _of_pairs(lambda p: p.xy / np.sqrt(p.xx * p.yy), 1),
    "regr_avgx": _of_pairs(lambda p: p.x_mean, 1),
    "regr_avgy": _of_pairs(lambda p: p.y_mean, 1),
    "regr_count": _of_pairs(lambda p: p.n, 0),
    "regr_intercept": _of_pairs(lambda p: p.y_mean - p.x_mean * p.slope, 1),
    "regr_r2": _of_pairs(_r_squared, 1),
    "regr_slope": _of_pairs(lambda p: p.slope, 1),
    "regr_sxx": _of_pairs(lambda p: p.xx, 1),
    "regr_sxy": _of_pairs(lambda p: p.xy, 1),
    "regr_syy": _of_pairs(lambda p: p.yy, 1),
}
ENTROPY: Mapping[str, Fold] = {"entropy": _entropy}
OF_PARTS: Mapping[str, Fold] = {
    f"{function}_of_parts": functools.partial(_variance_of_parts, function)
    for function in VARIANCES
}
