"""Variances, correlations and regressions: sums of products of distances from the means.

The means come first and the distances from them second, so that nothing large is subtracted from
something large: `stddev` of 1e9 + {1, 2, 3} is 1.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.aggregate.exact_sums import as_doubles
from raydb.engine.operators.codes import group_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from raydb.engine.operators.aggregate.grouped import Grouped
    from raydb.planner.expressions.nodes import AggregateCall

    Doubles = NDArray[np.float64]
    Fold = Callable[[AggregateCall, Grouped], pa.Array]


def _distances(rows: Grouped, number: int) -> tuple[Doubles, Doubles]:
    """Return each row's distance from the mean of its group, and the means."""
    values = as_doubles(rows.arguments[number])
    sizes = np.maximum(rows.members.sizes, 1)
    means = rows.members.sums(values) / sizes
    distances = values - means[rows.members.numbers]
    # The mean is rounded; what is left of the distances' sum corrects it.
    rest = rows.members.sums(distances) / sizes
    return distances - rest[rows.members.numbers], means + rest


def _known(values: Doubles, known: NDArray[np.bool_]) -> pa.Array:
    return pa.array(values, mask=~known)


# -- of one argument


def _variance(
    finish: Callable[[Doubles], Doubles], freedom: int, _: AggregateCall, rows: Grouped
) -> pa.Array:
    """Return the variance with n - freedom below the line, or its root."""
    sizes = rows.members.sizes
    with np.errstate(invalid="ignore", over="ignore"):
        distances, _means = _distances(rows, 0)
        squares = rows.members.sums(distances * distances)
        return _known(finish(squares / np.maximum(sizes - freedom, 1)), sizes > freedom)


def _third_and_fourth(rows: Grouped) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Return n and the sums of the second to the fourth powers of the distances."""
    with np.errstate(invalid="ignore", over="ignore"):
        distances, _means = _distances(rows, 0)
        powers = [rows.members.sums(distances**power) for power in (2, 3, 4)]
    return rows.members.sizes.astype(np.float64), powers[0], powers[1], powers[2]


def _skewness(_: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the sample skewness, corrected for its bias; needs three rows that differ."""
    n, second, third, _fourth = _third_and_fourth(rows)
    known = (n > 2) & (second != 0)
    n = np.where(known, n, 3)
    deviation = np.where(known, second, 1) / n
    skewness = third / n / deviation**1.5
    return _known(skewness * np.sqrt(n * (n - 1)) / (n - 2), known)


def _kurtosis(_: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the sample excess kurtosis, corrected for its bias; needs four rows that differ."""
    n, second, _third, fourth = _third_and_fourth(rows)
    known = (n > 3) & (second != 0)
    n = np.where(known, n, 4)
    excess = n * (n + 1) * fourth * (n - 1) / np.where(known, second, 1) ** 2
    return _known((excess - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)), known)


def _entropy(_: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the entropy of the values' frequencies, in bits."""
    pairs = group_rows(
        [pa.array(rows.members.numbers), rows.arguments[0]], len(rows.members.numbers)
    )
    counts = pairs.members.sizes
    sizes = rows.members.sizes
    groups = rows.members.numbers[pairs.rows]
    shares = counts / sizes[groups]
    bits = np.bincount(groups, -shares * np.log2(shares), rows.members.count)
    return _known(np.abs(bits), np.ones(rows.members.count, np.bool_))


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


def _pair(
    finish: Callable[[Pairs], Doubles], least_rows: int, _: AggregateCall, rows: Grouped
) -> pa.Array:
    """Return a statistic of pairs; NULL where it does not exist because a variance is zero."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        y, y_mean = _distances(rows, 0)
        x, x_mean = _distances(rows, 1)
        yy, xx, xy = (rows.members.sums(product) for product in (y * y, x * x, x * y))
        pairs = Pairs(rows.members.sizes.astype(np.float64), yy, xx, xy, y_mean, x_mean)
        results = finish(pairs)
    undefined = np.isnan(results) & ((yy == 0) | (xx == 0))
    return _known(np.where(undefined, 0.0, results), (pairs.n >= least_rows) & ~undefined)


def _r_squared(pairs: Pairs) -> Doubles:
    """Return the share of y's variance that x explains; 1 where y has none, as PostgreSQL."""
    share = pairs.xy * pairs.xy / (pairs.xx * pairs.yy)
    return np.where(pairs.xx == 0, np.nan, np.where(pairs.yy == 0, 1.0, share))


def _identity(values: Doubles) -> Doubles:
    return values


MOMENTS: Mapping[str, Fold] = {
    "var_samp": functools.partial(_variance, _identity, 1),
    "var_pop": functools.partial(_variance, _identity, 0),
    "stddev_samp": functools.partial(_variance, np.sqrt, 1),
    "stddev_pop": functools.partial(_variance, np.sqrt, 0),
    "skewness": _skewness,
    "kurtosis": _kurtosis,
}
ENTROPY: Mapping[str, Fold] = {"entropy": _entropy}
PAIR_STATISTICS: Mapping[str, Fold] = {
    "covar_pop": functools.partial(_pair, lambda p: p.xy / p.n, 1),
    "covar_samp": functools.partial(_pair, lambda p: p.xy / (p.n - 1), 2),
    "corr": functools.partial(_pair, lambda p: p.xy / np.sqrt(p.xx * p.yy), 1),
    "regr_avgx": functools.partial(_pair, lambda p: p.x_mean, 1),
    "regr_avgy": functools.partial(_pair, lambda p: p.y_mean, 1),
    "regr_count": functools.partial(_pair, lambda p: p.n, 0),
    "regr_intercept": functools.partial(_pair, lambda p: p.y_mean - p.x_mean * p.slope, 1),
    "regr_r2": functools.partial(_pair, _r_squared, 1),
    "regr_slope": functools.partial(_pair, lambda p: p.slope, 1),
    "regr_sxx": functools.partial(_pair, lambda p: p.xx, 1),
    "regr_sxy": functools.partial(_pair, lambda p: p.xy, 1),
    "regr_syy": functools.partial(_pair, lambda p: p.yy, 1),
}
