"""Calibration of an IVF index: when to stop, so that at most a share of neighbours is missed.

queries   ->   a tuning split, and a calibration split disjoint from it
split     ->   exact neighbours   ->   how many lists each takes, and the scores one list before
tuning    ->   gamma, kreg, share: those with the fewest lists   ->   calibration: the threshold

Few queries all calibrate, and rows of the index tune. What is promised asks of the tuning only that
it knows nothing of the queries that calibrate; how few lists are scanned depends on it.

A missed share (FNR) of `fnr` is promised on average over queries that are exchangeable with those
of the calibration split, by conformal risk control: Angelopoulos et al., Conformal Risk Control
(ICLR 2024), theorem 1; Horchidan et al., ConANN (PVLDB 19, 2025), section 4.

With a confidence the promise holds for this very calibration but with a small probability: an upper
bound of the mean, that of Hoeffding and Bentkus, takes the place of that theorem's term. Bates et
al., Distribution-Free, Risk-Controlling Prediction Sets (JACM 68, 2021), section 3.1.

A neighbour that takes r lists is found if and only if E_(r-1) < threshold: the search goes on
beyond r - 1 lists. So the missed share is that of the neighbours with E_(r-1) >= threshold, it only
falls at these values, and the least threshold that keeps a promise is next to one of them.
"""

from __future__ import annotations

from math import ceil, exp, floor, inf, lgamma, log, log1p, nextafter
from typing import TYPE_CHECKING

import numpy as np

from raydb.errors import DataError
from raydb.kernels.vector.calibration_trace import exact_distances, some_rows, trace
from raydb.kernels.vector.drift import reference_of
from raydb.kernels.vector.graph import MOST_EF
from raydb.kernels.vector.graph_search import search_graph
from raydb.kernels.vector.graph_trace import trace_walks
from raydb.kernels.vector.stop_rule import StopRule, greatest_square, stop_scores
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.vector.calibration_trace import Searched, Trace
    from raydb.kernels.vector.drift import Reference
    from raydb.kernels.vector.stop_rule import Score

# Of more queries a sample is taken: at 10,000 a missed share is off by less than 0.003.
MAX_QUERIES = 10_000

# One alone says nothing of what others miss.
_LEAST_QUERIES = 2

# A quarter of the queries tunes the rule; more than 500 hardly change what they choose. Where they
# would be fewer than so many, rows of the index tune as well, and each query counts for more.
_TUNING_PART = 4
_LEAST_TUNING = 100
MAX_TUNING = 500

# Penalties in parts of the spread of scores after a fixed number of lists. The greatest leaves
# little but the number of lists: the rule is then no worse than a fixed number.
_PENALTIES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0)
_SHARES = (0.0, 0.5, 0.8, 1.0)


@dataclass(frozen=True, eq=False, slots=True)
class Calibration:
    """What is promised for k rows, and how it is kept.

    fnr: the mean share of the k nearest rows that is missed, at most. confidence: the probability
    that this calibration keeps that, None for a mean over calibrations. calibration_count,
    tuning_count: queries that set the threshold, and the rule's other numbers, 0 where rows of the
    index did. risk: the calibration queries' mean missed share under the rule. probes: the tuning
    queries' mean number of lists under it, or that of those that calibrate. nprobe, nprobe_risk:
    the fixed number of lists with the same promise, and its missed share. held_out: the queries
    were rows of the index, each searched for among the others.
    reference: for the drift monitor.
    """

    k: int
    fnr: float
    confidence: float | None
    rule: StopRule
    calibration_count: int
    tuning_count: int
    risk: float
    probes: float
    nprobe: int
    nprobe_risk: float
    seed: int
    held_out: bool
    reference: Reference

    @property
    def ef(self) -> int:
        """How many vectors a walk keeps, more than `MOST_EF` where none suffice; 0 for lists."""
        return int(self.rule.threshold) if self.rule.score == "ef" else 0


def least_queries(fnr: float, confidence: float | None = None) -> int:
    """Return the least number of queries that can promise a missed share of `fnr`."""
    if confidence is None:
        # 1 / fnr may be off by its last bit.
        return max(_LEAST_QUERIES, ceil(round(1 / fnr - 1, 9)))
    # None of so many queries may miss anything.
    return max(_LEAST_QUERIES, ceil(round(log(1 - confidence) / log1p(-fnr), 9)))


def calibrate(
    searched: Searched,
    queries: NDArray[np.float32],
    ks: Sequence[int],
    fnrs: Sequence[float],
    score: Score,
    seed: int,
    own_rows: NDArray[np.int64] | None = None,
    confidence: float | None = None,
) -> list[Calibration]:
    """Return a calibration for each k and missed share, by queries (q, d) such as users will ask.

    own_rows (q): the row that each query is, where rows serve as queries; it does not count for
    it. At least max(ks) rows count. Raises DataError for fewer queries than `least_queries` asks
    for. The same seed gives the same on the same machine.
    """
    tuning, calibration = split(len(queries), fnrs, seed, confidence)
    # A rule of 'ef' has nothing but its threshold.
    is_tuned_by_rows = own_rows is None and (score == "ef" or len(tuning) < _LEAST_TUNING)
    chosen = np.concatenate((tuning, calibration))
    some, own = queries[chosen], None if own_rows is None else own_rows[chosen]
    tuned_by = len(tuning)
    if is_tuned_by_rows:
        tuning, calibration = chosen[:0], chosen
        some, own, tuned_by = _after_rows(searched, some, max(ks), seed)
    first, second = slice(0, tuned_by), slice(tuned_by, None)
    told = slice(tuned_by, tuned_by + MAX_TUNING) if is_tuned_by_rows else first
    some = np.ascontiguousarray(some)
    distances = exact_distances(searched, some, max(ks), own)
    index = searched.index
    scale = greatest_square(index.vectors, index.metric, index.longest)
    plain = StopRule(score, 0.0, 1, scale, 0.0, inf)
    found = []
    for k in ks:

        def followed(part: slice, k: int = k, *, with_all: bool) -> Trace:
            given = score, searched, some[part], distances[part, k - 1], k
            return _followed(*given, None if own is None else own[part], with_all=with_all)

        for_tuning = followed(first, with_all=True)
        for_threshold = followed(second, with_all=False)
        for_probes = followed(told, with_all=True) if is_tuned_by_rows else for_tuning
        reference = reference_of(for_tuning.margins, for_threshold.margins)
        for fnr in fnrs:
            searched.keep_going()
            rule = promise(tune(plain, for_tuning, fnr), for_threshold, fnr, confidence)
            fixed = fixed_rule(for_threshold, fnr, confidence)
            found.append(
                Calibration(
                    k=k,
                    fnr=fnr,
                    confidence=confidence,
                    rule=rule,
                    calibration_count=len(calibration),
                    tuning_count=len(tuning),
                    risk=missed(rule, for_threshold),
                    probes=_mean_probes(rule, for_probes, searched, some[told]),
                    nprobe=int(fixed.threshold) - 1,
                    nprobe_risk=missed(fixed, for_threshold),
                    seed=seed,
                    held_out=own_rows is not None,
                    reference=reference,
                )
            )
    return found


def _after_rows(
    searched: Searched, queries: NDArray[np.float32], most: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.int64], int]:
    """Return queries after some rows of the index, which row each of all is, and how many rows.

    There are none where a row has fewer than `most` others. -1: a query is no row.
    """
    row_ids, allowed = searched.index.row_ids, searched.allowed
    count = len(row_ids) if allowed is None else int(np.count_nonzero(allowed[row_ids]))
    rows, numbers = some_rows(searched, MAX_TUNING if count > most else 0, seed)
    own = np.concatenate((numbers, np.full(len(queries), -1)))
    return np.concatenate((rows, queries)), own, len(rows)


def _followed(
    score: Score,
    searched: Searched,
    queries: NDArray[np.float32],
    farthest: NDArray[np.float64],
    k: int,
    own_rows: NDArray[np.int64] | None,
    *,
    with_all: bool,
) -> Trace:
    """Follow queries from list to list, or along a graph; see `trace`."""
    given = searched, queries, farthest, k, own_rows
    return trace_walks(*given) if score == "ef" else trace(*given, with_all=with_all)


def _mean_probes(
    rule: StopRule, queries: Trace, searched: Searched, vectors: NDArray[np.float32]
) -> float:
    """Return the mean number of lists, or of vectors of a walk, that queries look at; 0 of none."""
    if not len(vectors):
        return 0.0
    if rule.score != "ef":
        return float(lists_scanned(rule, queries).mean())
    if rule.threshold > MOST_EF:
        return 0.0
    k, ef = queries.ranks.shape[1], int(rule.threshold)
    return float(search_graph(searched.index, vectors, k, ef, searched.allowed).probes.mean())


def split(
    query_count: int, fnrs: Sequence[float], seed: int, confidence: float | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the queries that tune, and of those that calibrate: all others.

    Of more than `MAX_QUERIES` only so many are in either.
    """
    least = least_queries(min(fnrs), confidence)
    if query_count < least:
        raise DataError(
            f"a missed share of {min(fnrs)} takes at least {least} calibration queries, "
            f"there are {query_count}"
        )
    chosen = np.random.default_rng(seed).permutation(query_count)[:MAX_QUERIES]
    count = min(len(chosen) // _TUNING_PART, MAX_TUNING, max(len(chosen) - least, 0))
    return chosen[:count], chosen[count:]


def tune(plain: StopRule, tuning: Trace, fnr: float) -> StopRule:
    """Return the rule that misses a share of `fnr` of the tuning queries' rows in the fewest lists.

    Its threshold is theirs. plain: the rule without penalty, for no tuning queries.
    """
    count, k = tuning.ranks.shape
    if not count or plain.score == "ef":
        return plain
    allowed = floor(fnr * count * k)
    fixed = _fixed(tuning, allowed)
    best, fewest = plain, inf
    for share in _SHARES if plain.score == "ratio" else (0.0,):
        bare = replace(plain, share=share)
        every = _all_scores(bare, tuning)
        usual = every[:, fixed - 1]
        usual = usual[np.isfinite(usual)]
        spread = float(usual.std()) if len(usual) else 0.0
        needed = _needed(bare, tuning)
        for penalty in _PENALTIES:
            for kreg in sorted({1, fixed}) if penalty else (1,):
                tried = replace(bare, gamma=penalty * (spread or 1.0), kreg=kreg)
                threshold = _threshold(needed + _penalties(tried, tuning.ranks - 1), allowed)
                tried = replace(tried, threshold=threshold)
                lists = np.arange(1, every.shape[1] + 1)
                probes = float(_first(every + _penalties(tried, lists), threshold).mean())
                if probes < fewest:
                    best, fewest = tried, probes
    return best


def promise(
    rule: StopRule, calibration: Trace, fnr: float, confidence: float | None = None
) -> StopRule:
    """Return the rule with the least threshold that promises a missed share of `fnr`."""
    needed = _needed(rule, calibration) + _penalties(rule, calibration.ranks - 1)
    count, k = calibration.ranks.shape
    threshold = _threshold(needed, may_miss(count, k, fnr, confidence))
    if rule.score == "ef":
        # A walk keeps k vectors or more, and no part of one.
        threshold = ceil(max(threshold, k))
    return replace(rule, threshold=float(threshold))


def fixed_rule(calibration: Trace, fnr: float, confidence: float | None = None) -> StopRule:
    """Return the rule of the least fixed number of lists that promises a missed share of `fnr`.

    As under any rule, a search goes on until it has k rows.
    """
    count, k = calibration.ranks.shape
    lists = _fixed(calibration, may_miss(count, k, fnr, confidence))
    # Every distance is nothing beside an endless one, so that all scores are 1.
    return StopRule("kth", 1.0, 0, inf, 0.0, 1.0 + lists)


def missed(rule: StopRule, queries: Trace) -> float:
    """Return the mean share of the k nearest rows that queries miss under a rule."""
    needed = _needed(rule, queries) + _penalties(rule, queries.ranks - 1)
    return float((needed >= rule.threshold).mean())


def lists_scanned(rule: StopRule, queries: Trace) -> NDArray[np.int64]:
    """Return how many lists queries scan under a rule (q); they were traced with all lists."""
    every = _all_scores(rule, queries)
    lists = np.arange(1, every.shape[1] + 1)
    return _first(every + _penalties(rule, lists), rule.threshold)


def may_miss(count: int, k: int, fnr: float, confidence: float | None = None) -> int:
    """Return how many of their k nearest rows each, added up, calibration queries may miss.

    Their mean share is at most fnr * (n + 1) / n - 1 / n: the next query, which may miss all of
    its rows, then brings the mean of n + 1 to fnr. With a confidence it is the greatest of which an
    upper bound of the mean over all queries is fnr.
    """
    if confidence is None:
        # Rounded, since 0.1 * 10 - 1 may be a little less than 0.
        allowed: int = floor(round(k * (fnr * (count + 1) - 1), 9))
    else:
        doubt = 1 - confidence
        share = max(_hoeffding(count, fnr, doubt), _bentkus(count, k, fnr, doubt))
        allowed = floor(k * count * share + 1e-9)
    assert allowed >= 0, "`split` leaves as many queries as a promise takes"
    return allowed


def _hoeffding(count: int, fnr: float, doubt: float) -> float:
    """Return the greatest mean of losses with which Hoeffding's inequality doubts `fnr` enough.

    exp(-n KL(mean, fnr)) <= doubt, and 0 where no mean is small enough. Bates et al., section 3.1.
    """
    low, high = 0.0, fnr
    for _ in range(60):
        middle = (low + high) / 2
        is_enough = exp(-count * _divergence(middle, fnr)) <= doubt
        low, high = (middle, high) if is_enough else (low, middle)
    return low


def _divergence(mean: float, fnr: float) -> float:
    """Return the relative entropy of coins with these means."""
    found = (1 - mean) * (log1p(-mean) - log1p(-fnr))
    return found + mean * log(mean / fnr) if mean else found


def _bentkus(count: int, k: int, fnr: float, doubt: float) -> float:
    """Return the greatest mean of losses with which Bentkus' inequality doubts `fnr` enough.

    e P(Binomial(n, fnr) <= ceil(n mean)) <= doubt, without e where each query misses all or
    nothing; 0 where no mean is small enough. Bates et al., section 3.1.
    """
    places = np.arange(count + 1)
    chances = np.fromiter(
        (lgamma(count + 1) - lgamma(place + 1) - lgamma(count - place + 1) for place in places),
        np.float64,
        count + 1,
    )
    chances = np.exp(chances + places * log(fnr) + (count - places) * log1p(-fnr))
    factor = 1.0 if k == 1 else np.e
    enough = int(np.count_nonzero(factor * np.cumsum(chances) <= doubt))
    return max(enough - 1, 0) / count


def _threshold(needed: NDArray[np.float64], allowed: int) -> float:
    """Return the least threshold above all but `allowed` of the scores that rows need."""
    if allowed >= needed.size:
        return -inf
    last = needed.size - 1 - allowed
    return nextafter(float(np.partition(needed.ravel(), last)[last]), inf)


def _fixed(queries: Trace, allowed: int) -> int:
    """Return the least number of lists with which all but `allowed` rows are found."""
    # A list that is scanned for want of k rows costs nothing more.
    ranks = np.where(np.isinf(queries.reached), 1, queries.ranks).ravel()
    last = max(ranks.size - 1 - allowed, 0)
    return int(np.partition(ranks, last)[last])


def _needed(rule: StopRule, queries: Trace) -> NDArray[np.float64]:
    """Return E_p without its penalty one list before each row is found (q, k)."""
    bare = replace(rule, gamma=0.0)
    nearest = queries.nearest[:, None]
    return stop_scores(bare, queries.ranks - 1, nearest, queries.following, queries.reached)


def _all_scores(rule: StopRule, queries: Trace) -> NDArray[np.float64]:
    """Return E_p without its penalty after each list (q, lists)."""
    bare = replace(rule, gamma=0.0)
    nearest = queries.nearest[:, None]
    lists = np.arange(1, queries.all_reached.shape[1] + 1)
    return stop_scores(bare, lists, nearest, queries.all_following, queries.all_reached)


def _penalties(rule: StopRule, lists: NDArray[np.integer]) -> NDArray[np.float64]:
    penalties: NDArray[np.float64] = rule.gamma * np.maximum(0, lists - rule.kreg)
    return penalties


def _first(every: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
    """Return the first place with a score of at least the threshold, from 1 on (q)."""
    places: NDArray[np.int64] = (every < threshold).sum(axis=1) + 1
    return np.minimum(places, every.shape[1])
