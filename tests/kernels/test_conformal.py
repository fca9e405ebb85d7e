"""Calibration and its stop rule beside plain NumPy, and what it promises over random splits."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from raydb.errors import DataError
from raydb.kernels.vector.calibration_trace import Searched, Trace, exact_distances, trace
from raydb.kernels.vector.conformal import (
    MAX_QUERIES,
    calibrate,
    fixed_rule,
    least_queries,
    lists_scanned,
    may_miss,
    missed,
    promise,
    split,
    tune,
)
from raydb.kernels.vector.exact_search import METRICS
from raydb.kernels.vector.ivf import Ivf, build_ivf, search_ivf
from raydb.kernels.vector.stop_rule import LIST_SCORES, StopRule, greatest_square

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.vector.exact_search import Metric
    from raydb.kernels.vector.stop_rule import Score

    Vectors = NDArray[np.float32]

SEED = 8
TARGETS = (0.01, 0.05, 0.1, 0.2, 0.5)
SPLITS = 20


def make(seed: int, count: int, width: int) -> Vectors:
    """Return a mixture of gaussians that differ in density."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(40, width))
    radii = np.exp(rng.normal(size=40) / 2)
    chosen = rng.integers(0, 40, count)
    return (centers[chosen] + radii[chosen, None] * rng.normal(size=(count, width))).astype(
        np.float32
    )


def build(vectors: Vectors, lists: int, metric: Metric) -> Ivf:
    rows = np.arange(len(vectors), dtype=np.uint32)
    return build_ivf(vectors, rows, len(vectors), lists, metric, SEED)


def plain_rule(index: Ivf, score: Score) -> StopRule:
    scale = greatest_square(index.vectors, index.metric, index.longest)
    return StopRule(score, 0.0, 1, scale, 0.0, np.inf)


def follow(index: Ivf, queries: Vectors, k: int, threads: int | None = None) -> Trace:
    searched = Searched(index, threads=threads)
    farthest = np.ascontiguousarray(exact_distances(searched, queries, k)[:, -1])
    return trace(searched, queries, farthest, k, with_all=True)


@cache
def traces() -> tuple[Ivf, dict[int, Trace]]:
    every = make(SEED, 4_000 + 3_000, 12)
    index = build(every[:4_000], 50, "l2")
    return index, {k: follow(index, every[4_000:], k) for k in (1, 10, 100)}


@pytest.mark.long
@pytest.mark.parametrize("score", LIST_SCORES)
@pytest.mark.parametrize("k", [1, 10, 100])
def test_the_missed_share_is_the_promised_one(k: int, score: Score) -> None:
    index, by_k = traces()
    every = by_k[k]
    plain = plain_rule(index, score)
    # A search scans one list, and further ones for k rows.
    most = float(((every.ranks > 1) & np.isfinite(every.reached)).mean())
    for fnr in TARGETS:
        shares = []
        for seed in range(SPLITS):
            order = np.random.default_rng(seed).permutation(len(every.ranks))
            test, rest = every.take(order[:1_500]), every.take(order[1_500:])
            tuning, calibration = split(1_500, [fnr], seed)
            # What tunes a rule is the subject of another test; few queries keep this one quick.
            rule = promise(tune(plain, rest.take(tuning[:50]), fnr), rest.take(calibration), fnr)
            shares.append(missed(rule, test))
        mean, error = float(np.mean(shares)), float(np.std(shares, ddof=1)) / SPLITS**0.5
        print(f"fnr {fnr}: {mean:.4f}, standard error {error:.4f}, at most {most:.4f}")
        assert abs(mean - min(fnr, most)) <= 0.01
        assert mean <= fnr + 2 * error


def test_the_risk_falls_as_the_threshold_grows() -> None:
    index, by_k = traces()
    for score in LIST_SCORES:
        rule = tune(plain_rule(index, score), by_k[10].take(np.arange(100)), 0.1)
        assert rule.score == score
        thresholds = np.linspace(rule.threshold - 1, rule.threshold + 1, 50)
        rules = [replace(rule, threshold=float(each)) for each in thresholds]
        risks = [missed(each, by_k[10]) for each in rules]
        lists = [lists_scanned(each, by_k[10]) for each in rules]
        assert (np.diff(risks) <= 0).all()
        assert risks[0] > risks[-1]
        assert (np.diff(lists, axis=0) >= 0).all()


def test_a_rule_scans_fewer_lists_than_a_fixed_number() -> None:
    index, by_k = traces()
    for k in (1, 10, 100):
        first, rest = (by_k[k].take(part) for part in np.split(np.arange(3_000), [500]))
        for score in LIST_SCORES:
            rule = promise(tune(plain_rule(index, score), first, 0.1), rest, 0.1)
            fixed = fixed_rule(rest, 0.1)
            adaptive, usual = (lists_scanned(each, rest).mean() for each in (rule, fixed))
            print(f"k {k}, {score}: {adaptive:.2f} beside {usual:.2f} lists")
            assert adaptive <= usual
            assert missed(fixed, rest) <= 0.1


def squares(metric: Metric, vectors: NDArray[Any], query: NDArray[Any]) -> NDArray[np.float64]:
    """Return squared distances, which those of l1 and hamming are in a space of their own."""
    if metric == "hamming":
        differ = (vectors.view(np.uint32) ^ query.view(np.uint32)).view(np.uint8)
        return np.unpackbits(differ, axis=1).sum(axis=1).astype(np.float64)
    apart = vectors - query
    return (np.abs(apart) if metric == "l1" else apart**2).sum(axis=1)


def space(
    metric: Metric, index: Ivf, queries: Vectors
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Return rows, queries and squared distances (q, lists) of the lists in that space."""
    if metric == "hamming":
        away = [squares(metric, index.centroids, query) for query in queries]
        return index.vectors, queries, np.array(away)
    rows, asked = index.vectors.astype(np.float64), queries.astype(np.float64)
    centroids = index.centroids.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if metric == "cosine":
        rows, asked = rows / lengths, asked / np.linalg.norm(asked, axis=1, keepdims=True)
    if metric == "ip":
        longest = lengths.max()
        lifted = np.sqrt(np.maximum(longest**2 - lengths**2, 0))
        rows = np.hstack((rows, lifted))
        asked *= longest / np.linalg.norm(asked, axis=1, keepdims=True)
        asked = np.hstack((asked, np.zeros((len(asked), 1))))
        # The mean squared distance of rows whose mean is the centroid.
        away = 2 * longest**2 - 2 * asked[:, :-1] @ centroids.T
        return rows, asked, away
    return rows, asked, np.array([squares(metric, centroids, query) for query in asked])


def expect_scores(
    rule: StopRule,
    k: int,
    lists: NDArray[np.float64],
    away: NDArray[np.float64],
    offsets: NDArray[np.int64],
    counts: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return E_p after each list but the last, by its definition; away: of the rows, squared."""
    order = np.argsort(lists, kind="stable")
    scores = np.full(len(order) - 1, -np.inf)
    kept: list[float] = []
    for p in range(1, len(order)):
        part = slice(offsets[order[p - 1]], offsets[order[p - 1] + 1])
        kept = sorted([*kept, *away[part][counts[part]]])[:k]
        if len(kept) < k:
            continue
        if rule.score == "kth":
            score = 1 - min(kept[-1] / rule.scale, 1)
        else:
            score = (max(lists[order[p]] - rule.share * lists[order[0]], 0) / kept[-1]) ** 0.5
        scores[p - 1] = score + rule.gamma * max(0, p - rule.kreg)
    return scores


# Many rows are as far as others in bits.
@pytest.mark.long
@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric != "hamming"])
@pytest.mark.parametrize("score", LIST_SCORES)
def test_a_search_ends_at_the_first_list_that_the_rule_asks_for(
    metric: Metric, score: Score
) -> None:
    vectors, queries = make(SEED + 1, 900, 6), make(SEED + 2, 25, 6)
    index = build(vectors, 40, metric)
    rng = np.random.default_rng(SEED)
    rows, asked, lists = space(metric, index, queries)
    every = [squares(metric, rows, each) for each in asked]
    compared, stopped = 0, set()
    for k in (1, 5, 40):
        for share in (0.1, 1.0):
            allowed = rng.random(900) < share
            counts = allowed[index.row_ids]
            plain = replace(plain_rule(index, score), share=rng.random())
            plain = replace(plain, gamma=float(rng.choice([0, 0.01])), kreg=int(rng.integers(5)))
            scores = [
                expect_scores(plain, k, one, other, index.offsets, counts)
                for one, other in zip(lists, every, strict=True)
            ]
            finite = np.concatenate(scores)
            rule = replace(plain, threshold=float(rng.choice(finite[np.isfinite(finite)])) + 3e-5)
            found = search_ivf(index, queries, k, 1, allowed, rule=rule)
            few = search_ivf(index, queries[:9], k, 1, allowed, rule=rule)
            for name in ("rows", "distances", "probes", "margins"):
                np.testing.assert_array_equal(getattr(few, name), getattr(found, name)[:9])
            for query, expected in enumerate(scores):
                # float32 may put a score a bit off.
                if np.abs(expected - rule.threshold).min() < 1e-5:
                    continue
                p = int(np.argmax(np.append(expected, np.inf) >= rule.threshold)) + 1
                compared += 1
                stopped.add(p)
                assert found.probes[query] == p
                scanned = np.argsort(lists[query], kind="stable")[:p]
                is_seen = np.repeat(np.isin(np.arange(40), scanned), np.diff(index.offsets))
                places = np.flatnonzero(is_seen & counts)
                best = places[np.argsort(every[query][places], kind="stable")][:k]
                assert set(found.rows[query, : len(best)]) == set(index.row_ids[best].astype(int))
    print(f"{compared} searches, {len(stopped)} numbers of lists")
    assert compared > 60
    assert len(stopped) > 5


@pytest.mark.parametrize("metric", METRICS)
def test_traces_tell_in_which_list_each_neighbour_lies(metric: Metric) -> None:
    vectors, queries = make(SEED + 3, 800, 6), make(SEED + 4, 20, 6)
    # Rows as far as the k-th are as good, wherever they lie.
    vectors[400:] = vectors[:400]
    index = build(vectors, 30, metric)
    rows, asked, lists = space(metric, index, queries)
    for k in (1, 7):
        found = follow(index, queries, k)
        for query in range(len(queries)):
            away = squares(metric, rows, asked[query])
            good = away <= np.sort(away)[k - 1] * (1 + 1e-9)
            place = np.argsort(np.argsort(lists[query], kind="stable"), kind="stable") + 1
            ranks = np.sort(np.repeat(place, np.diff(index.offsets))[good])[:k]
            assert found.ranks[query].tolist() == ranks.tolist()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("score", LIST_SCORES)
def test_searches_miss_what_calibration_says(metric: Metric, score: Score) -> None:
    vectors, queries = make(SEED + 5, 2_000, 8), make(SEED + 6, 200, 8)
    index = build(vectors, 40, metric)
    for calibration in calibrate(Searched(index), queries, [5, 90], [0.05, 0.3], score, SEED):
        k = calibration.k
        found = search_ivf(index, queries, k, 1, rule=calibration.rule)
        farthest = exact_distances(Searched(index), queries, k)[:, -1:]
        share = float((found.distances > farthest).mean())
        assert share == pytest.approx(calibration.risk, abs=2e-3)
        assert calibration.risk <= calibration.fnr
        fixed = search_ivf(index, queries, k, calibration.nprobe)
        share = float((fixed.distances > farthest).mean())
        assert share == pytest.approx(calibration.nprobe_risk, abs=2e-3)
        assert calibration.nprobe_risk <= calibration.fnr
        assert (calibration.calibration_count, calibration.tuning_count) == (200, 0)
        assert not calibration.held_out


@pytest.mark.parametrize("score", ["kth", "ratio"])
def test_rows_tune_for_few_queries_and_a_part_of_many_does(score: Score) -> None:
    """Rules that know nothing of the queries are the same for all of them but for thresholds."""
    index, queries = build(make(SEED, 3_000, 8), 40, "l2"), make(SEED + 1, 1_200, 8)
    searched, rules = Searched(index), {}
    for start, count in ((0, 399), (400, 399), (0, 400), (400, 400), (0, 1_200)):
        some = queries[start : start + count]
        (made,) = calibrate(searched, some, [5], [0.1], score, SEED)
        tuning = count // 4 if count >= 400 else 0
        assert (made.calibration_count, made.tuning_count) == (count - tuning, tuning)
        assert made.probes == pytest.approx(
            search_ivf(index, some, 5, 1, rule=made.rule).probes.mean(), rel=0.2
        )
        rules[start, count] = made.rule
    one, other = rules[0, 399], rules[400, 399]
    assert one.threshold != other.threshold
    assert replace(one, threshold=0.0) == replace(other, threshold=0.0)
    assert replace(rules[0, 400], threshold=0.0) != replace(rules[400, 400], threshold=0.0)


def test_few_rows_do_not_tune_for_as_many_neighbours() -> None:
    vectors = make(SEED, 60, 4)
    index, allowed = build(vectors, 5, "l2"), np.ones(60, np.bool_)
    allowed[50:] = False
    for k, share in ((49, 0.3), (50, 0.3)):
        made = calibrate(Searched(index, allowed), make(9, 30, 4), [k], [share], "ratio", SEED)
        assert made[0].risk <= share
        assert (made[0].rule.gamma, made[0].tuning_count) == (0.0, 0) or k == 49


@pytest.mark.parametrize("metric", METRICS)
def test_rows_that_serve_as_queries_do_not_count_for_themselves(metric: Metric) -> None:
    vectors = make(SEED + 7, 500, 6)
    index = build(vectors, 20, metric)
    own = np.random.default_rng(SEED).choice(500, 60, replace=False)
    allowed = np.ones(500, np.bool_)
    allowed[::7] = False
    searched = Searched(index, allowed, threads=1)
    distances = exact_distances(searched, vectors[own], 4, own)
    for query, row in enumerate(own):
        others = allowed.copy()
        others[row] = False
        alone = exact_distances(Searched(index, others), vectors[own[query : query + 1]], 4)
        assert distances[query].tolist() == alone[0].tolist()
    found = trace(searched, vectors[own], distances[:, 3], 4, own)
    assert (found.ranks[:, 0] >= 1).all()
    (calibration,) = calibrate(searched, vectors[own], [4], [0.2], "ratio", 1, own)
    assert calibration.held_out
    assert calibration.risk > 0


def test_a_promise_takes_enough_queries() -> None:
    assert [least_queries(each) for each in (*TARGETS, 0.3, 0.9)] == [99, 19, 9, 4, 2, 3, 2]
    vectors = make(SEED + 9, 300, 4)
    index = build(vectors, 10, "l2")
    queries = make(SEED + 10, 99, 4)
    for fnr in TARGETS:
        least = least_queries(fnr)
        (calibration,) = calibrate(Searched(index), queries[:least], [3], [fnr], "ratio", SEED)
        assert calibration.risk <= fnr * (least + 1) / least - 1 / least + 1e-12
        with pytest.raises(DataError, match=f"takes at least {least} calibration queries"):
            calibrate(Searched(index), queries[: least - 1], [3], [0.9, fnr], "ratio", SEED)


def test_a_confident_promise_is_seldom_broken() -> None:
    """Of calibrations whose queries are drawn anew, at most 1 - confidence promise too much.

    A query's rows are found below scores of its own, so that the mean share that a threshold misses
    is known. Without a confidence about half of the calibrations are above what they promise.
    """
    rng = np.random.default_rng(SEED)
    for k, count, fnr, confidence in (
        (1, 200, 0.1, 0.9),
        (10, 300, 0.05, 0.95),
        (3, 150, 0.2, 0.8),
    ):
        everybody = rng.normal(size=(20_000, 1)) + 0.3 * rng.normal(size=(20_000, k))
        thresholds = np.sort(everybody.ravel())
        broken = {None: 0, confidence: 0}
        for _ in range(600):
            asked = np.sort(everybody[rng.integers(0, len(everybody), count)].ravel())
            for given in broken:
                allowed = may_miss(count, k, fnr, given)
                threshold = asked[asked.size - 1 - allowed]
                missed_share = 1 - np.searchsorted(thresholds, threshold, "right") / thresholds.size
                broken[given] += missed_share > fnr
        # Three standard deviations of 600 calibrations.
        most = 600 * (1 - confidence) + 3 * np.sqrt(600 * confidence * (1 - confidence))
        assert broken[confidence] <= most
        assert broken[None] > 150


def test_a_confident_promise_takes_more_queries() -> None:
    assert [least_queries(0.05, each) for each in (0.5, 0.9, 0.95, 0.99)] == [14, 45, 59, 90]
    for fnr in (0.01, 0.05, 0.2):
        for confidence in (0.5, 0.9, 0.99):
            least = least_queries(fnr, confidence)
            assert may_miss(least, 10, fnr, confidence) == 0
            allowed = [may_miss(n, 10, fnr, confidence) / (10 * n) for n in (least, 2_000, 10_000)]
            assert allowed == sorted(allowed)
            assert allowed[-1] < fnr
            assert allowed[-1] > fnr - 0.02
            # One that misses all or nothing, by the chances of a coin.
            most = may_miss(500, 1, fnr, confidence) if least <= 500 else 0
            chance = sum(
                math.comb(500, each) * fnr**each * (1 - fnr) ** (500 - each)
                for each in range(most + 1)
            )
            assert least > 500 or chance <= 1 - confidence


def test_queries_that_tune_do_not_calibrate() -> None:
    for count in (9, 10, 11, 50, 1_000, MAX_QUERIES + 5_000):
        for seed in (1, 2):
            tuning, calibration = split(count, [0.5], seed)
            chosen = np.concatenate((tuning, calibration))
            assert len(np.unique(chosen)) == len(chosen) == min(count, MAX_QUERIES)
            assert 0 <= chosen.min() <= chosen.max() < count
            assert len(calibration) >= min(count, 1)
    one, other = (split(1_000, [0.1], seed)[1] for seed in (1, 2))
    assert one.tolist() != other.tolist()
    assert len(split(1_000, [0.1], 1)[0]) == 250


def test_threads_change_nothing_and_the_seed_decides() -> None:
    index = build(make(SEED + 11, 2_000, 8), 30, "l2")
    queries = make(SEED + 12, 300, 8)
    one, two, other = (
        calibrate(Searched(index, threads=threads), queries, [5], [0.1, 0.2], "ratio", seed)
        for seed, threads in ((1, 1), (1, 2), (2, 2))
    )
    for first, second in zip(one, two, strict=True):
        for name in ("rule", "risk", "probes", "nprobe", "nprobe_risk"):
            assert getattr(first, name) == getattr(second, name)
        assert first.reference.counts.tolist() == second.reference.counts.tolist()
    assert [each.rule for each in one] != [each.rule for each in other]
    rule = one[0].rule
    few, many = (search_ivf(index, queries, 5, 1, threads=n, rule=rule) for n in (1, 2))
    for name in ("rows", "distances", "probes", "margins"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name))
    assert (few.margins <= 1).all()


@pytest.mark.long
@pytest.mark.parametrize("metric", ["l2", "cosine", "ip"])
def test_a_rule_stops_at_the_same_list_where_rows_are_bytes(metric: Metric) -> None:
    vectors, queries = make(SEED + 14, 1_500, 8), make(SEED + 15, 60, 8)
    rows = np.arange(1_500, dtype=np.uint32)
    plain = build(vectors, 25, metric)
    coded = build_ivf(vectors, rows, 1_500, 25, metric, SEED, has_codes=True)
    (one,), (other,) = (
        calibrate(Searched(each), queries, [7], [0.1], "ratio", 1) for each in (plain, coded)
    )
    assert one.rule == other.rule
    for some in (queries, queries[:9]):
        left, right = (search_ivf(each, some, 7, 1, rule=one.rule) for each in (plain, coded))
        for name in ("rows", "distances", "probes", "margins"):
            np.testing.assert_array_equal(getattr(left, name), getattr(right, name))


def test_calibration_can_be_ended() -> None:
    index = build(make(SEED + 13, 500, 4), 10, "l2")
    calls = 0

    def keep_going() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise InterruptedError

    searched = Searched(index, keep_going=keep_going)
    with pytest.raises(InterruptedError):
        calibrate(searched, make(SEED, 50, 4), [3], [0.1], "kth", 1)


def test_rows_that_are_all_the_same_are_found_in_one_list() -> None:
    vectors = np.ones((400, 4), np.float32)
    for metric in METRICS:
        index = build(vectors, 8, metric)
        for score in LIST_SCORES:
            (calibration,) = calibrate(Searched(index), vectors[:40], [3], [0.1], score, 1)
            assert calibration.risk == 0
            assert calibration.nprobe_risk == 0
            found = search_ivf(index, vectors[:2], 3, 1, rule=calibration.rule)
            assert (found.distances == found.distances[0, 0]).all()
