"""Change points: neighbours and profiles beside plain ones, planted changes, what keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from raydb.kernels.states.changes import _chance, find_changes, least_points, nearest, profile
from raydb.kernels.states.window import window_width

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WIDTH = 10


def _waves(seed: int, length: int = 300, noise: float = 0.1) -> NDArray[np.float64]:
    """Return a sine, a square wave and a sawtooth, one after the other (1, 3 length)."""
    phase = np.arange(length) / 20
    parts = np.sin(2 * np.pi * phase), np.sign(np.sin(2 * np.pi * phase)), 2 * (phase % 1) - 1
    points = np.concatenate(parts)
    return (points + np.random.default_rng(seed).normal(0, noise, len(points)))[None]


def _plain_correlations(channel: NDArray[np.float64], w: int) -> NDArray[np.float64]:
    """Return the correlations of all pairs (m, m), by the definition."""
    windows = np.lib.stride_tricks.sliding_window_view(channel, w)
    centred = windows - windows.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(centred, axis=1)
    unit = centred / np.where(norms > 0, norms, 1)[:, None]
    return unit @ unit.T


def _without_near(rows: NDArray[np.float64], w: int) -> NDArray[np.float64]:
    distance = np.abs(np.subtract.outer(np.arange(len(rows)), np.arange(len(rows))))
    return np.where(distance <= w // 2, np.nan, rows)


@pytest.mark.parametrize("count", [60, 700, 2300])  # the last in two runs of rows
def test_neighbours_are_those_of_all_pairs(count: int) -> None:
    points = np.cumsum(np.random.default_rng(count).normal(size=(1, count)), axis=1)
    found = nearest(points, _WIDTH, 3)
    rows = _without_near(_plain_correlations(points[0], _WIDTH), _WIDTH)
    rows = np.nan_to_num(rows, nan=-np.inf)
    best = -np.sort(-rows, axis=1)[:, :3]
    assert np.abs(np.take_along_axis(rows, found, 1) - best).max() < 1e-9


def test_neighbours_over_channels_are_those_of_standard_rows() -> None:
    points = np.cumsum(np.random.default_rng(5).normal(size=(3, 400)), axis=1)
    total = np.zeros((391, 391))
    for channel in points:
        rows = _without_near(_plain_correlations(channel, _WIDTH), _WIDTH)
        mean, deviation = np.nanmean(rows, axis=1), np.nanstd(rows, axis=1)
        total += (np.nan_to_num(rows) - mean[:, None]) / deviation[:, None]
    total[np.isnan(_without_near(total, _WIDTH))] = -np.inf
    best = -np.sort(-total, axis=1)[:, :3]
    found = nearest(points, _WIDTH, 3)
    assert np.abs(np.take_along_axis(total, found, 1) - best).max() < 1e-9


def test_level_subsequences_have_level_ones_from_all_of_the_series() -> None:
    points = np.zeros((1, 200))
    points[0, 80:120] = np.sin(np.arange(40))
    found = nearest(points, _WIDTH, 3)
    # There are 0 .. 71 and 120 .. 190: those after a fourth, a half and three fourths of them.
    assert found[10].tolist() == [35, 71, 154]
    assert found[33].tolist() == [39, 71, 154]
    assert set(found[90]) <= set(range(72, 120))


@pytest.mark.parametrize("k", [1, 3, 5])
def test_profile_is_the_roc_auc_of_scikit_learn(k: int) -> None:
    places = np.random.default_rng(10 + k).integers(0, 150, (150, k), dtype=np.int32)
    found = profile(places, _WIDTH, 40, 120)
    for place, split in enumerate(range(40, 120)):
        predicted = (places >= split).sum(axis=1) * 2 > k
        predicted[split - _WIDTH : split] = True
        assert abs(found[place] - roc_auc_score(np.arange(150) >= split, predicted)) < 1e-12


def _plain_profile(
    places: NDArray[np.int32], w: int, first: int, end: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the areas by counting pairs of both sides, and the mean shares that are right."""
    m = len(places)
    areas, shares = [], []
    for split in range(first, end):
        sides = np.arange(m) >= split
        predicted = (places >= split).sum(axis=1) * 2 > places.shape[1]
        predicted[split - w : split] = True
        one, other = predicted[sides].astype(float), predicted[~sides].astype(float)
        # The area is the chance that one of the right side is above one of the left.
        pairs = np.sign(np.subtract.outer(one, other))
        areas.append((pairs.mean() + 1) / 2)
        shares.append((one.mean() + 1 - other.mean()) / 2)
    return np.array(areas), np.array(shares)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_profile_is_the_area_under_each_roc_curve(k: int) -> None:
    places = np.random.default_rng(k).integers(0, 150, (150, k), dtype=np.int32)
    found = profile(places, _WIDTH, 40, 120)
    areas, shares = _plain_profile(places, _WIDTH, 40, 120)
    assert np.abs(found - areas).max() < 1e-12
    assert np.abs(found - shares).max() < 1e-12


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_planted_changes_are_found(seed: int) -> None:
    changes = find_changes(_waves(seed), _WIDTH, seed)
    places = [change.place for change in changes]
    assert len(places) == 2
    assert np.abs(np.array(places) - [300, 600]).max() <= 20
    assert all(0.5 < change.score <= 1 for change in changes)


def test_noise_has_no_change() -> None:
    assert find_changes(np.random.default_rng(3).normal(size=(1, 600)), _WIDTH) == []
    assert find_changes(np.zeros((1, 600)), _WIDTH) == []


def test_neighbours_on_the_other_side_are_no_sign_of_a_change() -> None:
    places = np.repeat((np.arange(400)[::-1])[:, None], 3, axis=1).astype(np.int32)
    assert profile(places, _WIDTH, 200, 201)[0] < 0.05
    assert _chance(places, _WIDTH, 200) == 1
    assert _chance(places[::-1].copy(), _WIDTH, 200) < 1e-50


def test_shift_and_scale_keep_changes() -> None:
    points = _waves(4)
    places = [change.place for change in find_changes(points, _WIDTH)]
    for scale, shift in ((1000.0, 0.0), (1e-6, 0.0), (1.0, 1e4), (-1.0, 5.0)):
        assert [each.place for each in find_changes(points * scale + shift, _WIDTH)] == places


def test_reversed_time_keeps_changes() -> None:
    points = _waves(5)
    places = np.array([change.place for change in find_changes(points, _WIDTH)])
    back = np.array([change.place for change in find_changes(points[:, ::-1].copy(), _WIDTH)])
    # A subsequence over the split counts as one of the side before it.
    assert np.abs(np.sort(900 - back) - places).max() <= 2 * _WIDTH


def test_changes_of_two_channels_are_found_together() -> None:
    points = np.concatenate((_waves(6, noise=0.3), 40 * _waves(7, noise=0.3) - 2))
    places = [change.place for change in find_changes(points, _WIDTH)]
    assert len(places) == 2
    assert np.abs(np.array(places) - [300, 600]).max() <= 20


def test_few_points_have_no_change() -> None:
    points = _waves(7)[:, : least_points(_WIDTH) - 1]
    assert find_changes(points, _WIDTH) == []
    assert find_changes(points[:, :3], _WIDTH) == []


def test_progress_ends_the_search() -> None:
    def stop(_: float) -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        find_changes(_waves(8), _WIDTH, keep_going=stop)


def _plain_window_score(points: NDArray[np.float64], w: int) -> float:
    scaled = (points - points.min()) / (points.max() - points.min())
    windows = np.lib.stride_tricks.sliding_window_view(scaled, w)[1:]
    parts = (
        windows.mean(axis=1) - scaled.mean(),
        windows.std(axis=1) - scaled.std(),
        np.ptp(windows, axis=1) - 1,
    )
    return float(np.sqrt(sum(part**2 for part in parts)).mean() / np.sqrt(w))


@pytest.mark.parametrize("seed", range(4))
def test_window_is_the_least_whose_windows_look_like_the_series(seed: int) -> None:
    points = np.cumsum(np.random.default_rng(seed).normal(size=500)) if seed else _waves(1)[0]
    least, most = _plain_window_score(points, len(points) - 1), _plain_window_score(points, 1)
    w = window_width(points) // 2
    near = [1 - (_plain_window_score(points, each) - least) / (most - least) for each in (w - 1, w)]
    assert w == 10 or near[0] < 0.89 + 1e-9
    assert near[1] >= 0.89 - 1e-9


def test_short_and_level_series_have_the_least_window() -> None:
    assert window_width(np.arange(8.0)) == 8
    assert window_width(np.full(300, 2.5)) == 20
