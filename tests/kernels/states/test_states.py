"""States: features, a ridge classifier, folds that share no point, merges, and planted states."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifierCV

from raydb.kernels.states.merging import gain, macro_f1, merge, merge_states
from raydb.kernels.states.ridge import PENALTIES, predict
from raydb.kernels.states.rocket import (
    KERNELS,
    fixed_kernels,
    in_lanes,
    likeness,
    noise,
    random_kernels,
    standard,
)
from raydb.kernels.states.states import MOST_SAMPLES, choose_samples, find_states, folds

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LENGTH, _WIDTH = 400, 40
_ORDER = (0, 1, 2, 0, 1)


def _planted(seed: int) -> tuple[NDArray[np.float64], list[tuple[int, int, int]]]:
    """Return a series (1, n) of three states in five segments, and these."""
    phase = np.arange(_LENGTH) / 20
    sine = np.sin(2 * np.pi * phase)
    kinds = (sine, np.sign(sine), 2 * (phase % 1) - 1)
    points = np.concatenate([kinds[kind] for kind in _ORDER])
    points += np.random.default_rng(seed).normal(0, 0.3, len(points))
    ends = [number * _LENGTH for number in range(len(_ORDER) + 1)]
    return points[None], [(*pair, len(points)) for pair in pairwise(ends)]


@pytest.mark.parametrize("classifier", ["rocket", "minirocket"])
def test_planted_states_are_found(classifier: str) -> None:
    points, segments = _planted(1)
    found = find_states(points, segments, _WIDTH, classifier)
    assert found.states.tolist() == [1, 2, 3, 1, 2]
    assert (found.right / found.samples > 0.8).all()


@pytest.mark.parametrize("classifier", ["rocket", "minirocket"])
def test_planted_states_are_found_among_channels_of_noise(classifier: str) -> None:
    (first, segments), (second, _) = _planted(6), _planted(7)
    noise = np.random.default_rng(8).normal(0, 50, first.shape)
    level = np.full(first.shape, 4.0)
    points = np.concatenate((first, noise, 1e4 * second - 3e5, level))
    assert find_states(points, segments, _WIDTH, classifier).states.tolist() == [1, 2, 3, 1, 2]


def test_equal_segments_are_one_state() -> None:
    part = np.sin(np.arange(300) / 4) + np.random.default_rng(2).normal(0, 0.2, 300)
    other = np.sign(part)
    points = np.concatenate((part, other, part, part))[None]
    segments = [(start, start + 300, 1200) for start in range(0, 1200, 300)]
    assert find_states(points, segments, 30).states.tolist() == [1, 2, 1, 1]


def test_shift_and_scale_keep_states() -> None:
    points, segments = _planted(3)
    assert find_states(points * 1e5 - 7e6, segments, _WIDTH).states.tolist() == [1, 2, 3, 1, 2]


def test_states_are_bounded() -> None:
    points, segments = _planted(4)
    assert find_states(points, segments, _WIDTH, most=2).states.max() == 2
    assert find_states(points, segments, _WIDTH, most=1).states.tolist() == [1] * 5
    assert find_states(points, segments, _WIDTH, most=0).states.tolist() == [1, 2, 3, 4, 5]


def test_segments_without_samples_have_no_state() -> None:
    points, _ = _planted(5)
    segments = [(0, 400, 400), (400, 420, 420), (420, 800, 800)]
    found = find_states(points, segments, _WIDTH)
    assert found.states.tolist() == [1, 0, 2]
    assert found.samples[1] == 0
    assert find_states(points, segments[1:2], _WIDTH).states.tolist() == [1]


# -- folds


@pytest.mark.parametrize("seed", range(5))
def test_folds_share_no_point(seed: int) -> None:
    draw = np.random.default_rng(seed)
    ends = np.concatenate(([0], np.sort(draw.choice(3000, 6, replace=False)), [3000]))
    segments = [(int(start), int(end), 3000) for start, end in pairwise(ends)]
    w = int(draw.integers(6, 80))
    starts, labels = choose_samples(segments, w, seed)
    tested = []
    for train, test in folds(starts, labels, w):
        assert np.abs(np.subtract.outer(starts[train], starts[test])).min() >= w
        tested += test.tolist()
    assert sorted(tested) == list(range(len(starts)))


def test_samples_lie_in_their_segments() -> None:
    segments = [(0, 95, 300), (95, 300, 300), (300, 420, 420)]
    starts, labels = choose_samples(segments, 20, 0)
    for start, label in zip(starts.tolist(), labels.tolist(), strict=True):
        from_, end, piece_end = segments[label]
        assert from_ <= start
        assert start + 20 - end <= 10
        assert start + 20 <= piece_end
    assert len(choose_samples([(0, 10**6, 10**6), (10**6, 10**6 + 90, 10**6 + 90)], 20, 0)[0]) <= (
        MOST_SAMPLES
    )


# -- features


@pytest.mark.parametrize("classifier", ["rocket", "minirocket"])
def test_features_of_noise_vary_alike(classifier: str) -> None:
    """The products of like noise with itself are about as many as there are features."""
    every = noise(1, 30, 1)
    products = likeness(every, classifier, 1)
    values = products - products.mean(axis=0) - products.mean(axis=1)[:, None] + products.mean()
    assert (
        0.7
        < np.diagonal(values).mean() / (2 * KERNELS if classifier == "rocket" else KERNELS)
        < 1.1
    )


def _plain_features(
    sample: NDArray[np.float64], kernel: int, kernels: object
) -> tuple[float, float]:
    """Return the share above 0 and the greatest sum of a kernel, by the definition."""
    length, dilation, padding, bias = (
        int(getattr(kernels, name)[kernel])
        for name in ("lengths", "dilations", "paddings", "starts")
    )
    starts, chosen, weights = (getattr(kernels, n) for n in ("starts", "channels", "weights"))
    bias = float(getattr(kernels, "bias")[kernel])  # noqa: B009  (its type is not known here)
    w = sample.shape[1]
    padded = np.pad(sample, ((0, 0), (padding, padding)))
    sums = []
    for time in range(w + 2 * padding - (length - 1) * dilation):
        total = bias
        for at in range(starts[kernel], starts[kernel + 1]):
            for tap in range(length):
                total += weights[at, tap] * padded[chosen[at], time + tap * dilation]
        sums.append(total)
    return float(np.mean(np.array(sums) > 0)), max(sums)


@pytest.mark.parametrize("channels", [1, 3])
def test_features_are_those_of_the_definition(channels: int) -> None:
    from raydb.kernels.states.loops.rocket_loops import convolve

    samples = standard(np.random.default_rng(1).normal(size=(70, channels, 33)), 0)
    kernels = random_kernels(channels, 33, 40, 5)
    blocks = in_lanes(samples)
    found = np.empty((80, len(blocks) * 64), np.float32)
    convolve(blocks, 33, kernels, 0, 40, np.empty((35, 64), np.float32), found)
    for sample in (0, 69):
        for kernel in range(40):
            share, most = _plain_features(samples[sample], kernel, kernels)
            assert found[2 * kernel, sample] == pytest.approx(share, abs=1e-6)
            assert found[2 * kernel + 1, sample] == pytest.approx(most, abs=1e-4)


def test_kernels_have_no_mean_and_fit() -> None:
    for kernels in (
        random_kernels(2, 20, 500, 1),
        fixed_kernels(2, 20, 1),
        random_kernels(1, 6, 50, 1),
    ):
        assert np.abs(kernels.weights.sum(axis=1)).max() < 1e-5
        w = 6 if len(kernels.bias) == 50 else 20
        assert (w + 2 * kernels.paddings - (kernels.lengths - 1) * kernels.dilations >= 1).all()


@pytest.mark.parametrize("classifier", ["rocket", "minirocket"])
def test_a_product_does_not_depend_on_other_samples(classifier: str) -> None:
    samples = standard(np.random.default_rng(2).normal(size=(90, 1, 24)), 0)
    every, some = likeness(samples, classifier, 3), likeness(samples[20:60], classifier, 3)
    assert (every[20:60, 20:60] == some).all()
    assert (every == every.T).all()


# -- the ridge classifier


def _direct_labels(
    features: NDArray[np.float64],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return what a ridge classifier predicts, from the normal equations, each sample left out."""
    classes = np.unique(labels[train])
    targets = np.where(labels[train][:, None] == classes, 1.0, -1.0)

    def fit(rows: NDArray[np.int64], penalty: float) -> tuple[NDArray[np.float64], ...]:
        x, y = features[train[rows]], targets[rows]
        centre, mean = x.mean(axis=0), y.mean(axis=0)
        own = (x - centre).T @ (x - centre) + penalty * np.eye(x.shape[1])
        return centre, mean, np.linalg.solve(own, (x - centre).T @ (y - mean))

    errors = []
    for penalty in PENALTIES:
        error = 0.0
        for out in range(len(train)):
            rows = np.delete(np.arange(len(train)), out)
            centre, mean, weights = fit(rows, penalty)
            guess = (features[train[out]] - centre) @ weights + mean
            error += float(((guess - targets[out]) ** 2).sum())
        errors.append(error)
    centre, mean, weights = fit(np.arange(len(train)), PENALTIES[int(np.argmin(errors))])
    return classes[((features[test] - centre) @ weights + mean).argmax(axis=1)]


@pytest.mark.parametrize("seed", range(6))
def test_ridge_is_the_direct_solution(seed: int) -> None:
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 3, 60)
    features = draw.normal(size=(60, 8)) + 0.7 * labels[:, None] * draw.normal(size=8)
    train, test = np.arange(45), np.arange(45, 60)
    found = predict(features @ features.T, train, test, labels)
    assert (found == _direct_labels(features, train, test, labels)).all()


@pytest.mark.parametrize("seed", range(6))
def test_ridge_is_that_of_scikit_learn(seed: int) -> None:
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 4, 200)
    features = draw.normal(size=(200, 50)) + 0.4 * labels[:, None] * draw.normal(size=50)
    train, test = np.arange(150), np.arange(150, 200)
    judge = RidgeClassifierCV(PENALTIES).fit(features[train], labels[train])
    found = predict(features @ features.T, train, test, labels)
    assert (found == judge.predict(features[test])).all()


def test_ridge_reads_no_label_of_the_test_samples() -> None:
    draw = np.random.default_rng(8)
    features, labels = draw.normal(size=(40, 5)), draw.integers(0, 2, 40)
    train, test = np.arange(30), np.arange(30, 40)
    changed = labels.copy()
    changed[test] = 9
    products = features @ features.T
    assert (predict(products, train, test, labels) == predict(products, train, test, changed)).all()


# -- merges


def _confusion(truth: NDArray[np.int64], guess: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    found = np.zeros((count, count), np.int64)
    np.add.at(found, (truth, guess), 1)
    return found


@pytest.mark.parametrize("count", [2, 5, 10])
def test_random_labels_gain_nothing(count: int) -> None:
    draw = np.random.default_rng(count)
    truth = draw.choice(count, 20_000, p=draw.dirichlet(np.full(count, 5.0)))
    shuffled = draw.permutation(truth)
    assert abs(gain(_confusion(truth, shuffled, count))) < 0.02
    assert gain(_confusion(truth, truth, count)) == pytest.approx(1 - 1 / count)


def test_f1_is_the_mean_of_all_classes() -> None:
    confusion = np.array([[8, 2, 0], [1, 5, 0], [0, 4, 0]])
    assert macro_f1(confusion) == pytest.approx((16 / 19 + 10 / 17 + 0) / 3)


def test_confused_segments_are_merged_while_the_gain_does_not_fall() -> None:
    confusion = np.array([[5, 0, 5, 0], [0, 9, 0, 1], [6, 0, 4, 0], [0, 0, 0, 10]])
    steps = merge_states(confusion, None)
    assert [step.merged for step in steps] == [(0, 2), None]
    assert steps[-1].states.tolist() == [0, 1, 0, 3]
    assert steps[-1].confusion.tolist() == [[20, 0, 0], [0, 9, 1], [0, 0, 10]]
    gains = [gain(step.confusion) for step in steps]
    assert gains == sorted(gains)
    forced = merge_states(confusion, 2)
    assert [step.is_forced for step in forced] == [False, True, False]


def test_a_merge_keeps_all_samples() -> None:
    confusion = np.random.default_rng(1).integers(0, 9, (5, 5))
    merged = merge(confusion, 1, 3)
    assert merged.sum() == confusion.sum()
    assert merged[1, 1] == confusion[np.ix_([1, 3], [1, 3])].sum()
