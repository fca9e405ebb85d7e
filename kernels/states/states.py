"""The states of a series: CLaP, from its segments to those of them that are one state.

    segments  ->  samples of a window, labelled by segment  ->  products of their features
              ->  what a classifier predicts of folds it has not seen  ->  confusion  ->  merges

Ermshaus, Schaefer and Leser, "CLaP: state detection from time series", PVLDB 19(1), 2025.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.states.merging import Step, merge_states
from raydb.kernels.states.ridge import predict
from raydb.kernels.states.rocket import likeness, standard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

FOLDS = 5
MOST_SAMPLES = 1000

# Samples follow each other by a quarter of a window, and a fold has some that reach over about
# three windows: it takes one window on both sides from what is trained with.
_STEPS = 2
_BLOCK = 2 * _STEPS

# A sample is level whose standard deviation is at most this part of the whole channel's.
_LEVEL = 1e-3


class States(NamedTuple):
    """The states of segments.

    states: of each segment, from 1 on in the order of time; 0 where none is known. samples: how
    many each segment has, and right: how many are predicted to be of its state. steps: how segments
    with samples were merged; classified: the numbers of these segments.
    """

    states: NDArray[np.int64]
    samples: NDArray[np.int64]
    right: NDArray[np.int64]
    steps: list[Step]
    classified: NDArray[np.int64]


def find_states(
    points: NDArray[np.float64],
    segments: Sequence[tuple[int, int, int]],
    w: int,
    classifier: str = "rocket",
    seed: int = 0,
    most: int | None = None,
    tell: Callable[[float], None] = lambda _: None,
) -> States:
    """Return the states of the segments of a series.

    points (d, n). segments: the start and the end of each, and the end of its piece, behind which
    no sample reaches. w: the points of a sample. most: how many states there are at most, None for
    any number, 0 where nothing is merged.
    """
    starts, labels = choose_samples(segments, w, seed)
    states, samples, right = (np.zeros(len(segments), np.int64) for _ in range(3))
    if len(segments) == 1 or not len(starts):
        states += len(segments) == 1
        return States(states, samples, right, [], np.zeros(0, np.int64))
    scale = points.std(axis=1, keepdims=True)
    scale[scale == 0] = 1
    windows = np.lib.stride_tricks.sliding_window_view(points / scale, w, axis=1)
    chosen = standard(windows[:, starts].transpose(1, 0, 2), _LEVEL)
    products = likeness(chosen, classifier, seed, tell)
    classified, classes = np.unique(labels, return_inverse=True)
    predicted = classes.copy()
    for train, test in folds(starts, classes, w):
        predicted[test] = predict(products, train, test, classes)
    confusion = np.zeros((len(classified),) * 2, np.int64)
    np.add.at(confusion, (classes, predicted), 1)
    steps = merge_states(confusion, most)
    final = steps[-1].states
    # A state is called by its least segment, so that their order is that of time.
    states[classified] = np.unique(final, return_inverse=True)[1] + 1
    samples[classified] = np.bincount(classes)
    right[classified] = np.bincount(classes, final[predicted] == final[classes])
    return States(states, samples, right, steps, classified)


def choose_samples(
    segments: Sequence[tuple[int, int, int]], w: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the starts of samples, in order, and their segments.

    They follow each other by half a window. A sample belongs to the segment that it starts in, and
    is none where half of it or more lies behind that; at most MOST_SAMPLES are chosen at random, as
    many of each segment as there are, but for the longest.
    """
    step = max(w // 2, 1)
    draw = np.random.default_rng(seed)
    by_segment = []
    piece_start = previous_end = 0
    for start, end, piece_end in segments:
        if piece_end != previous_end:
            piece_start, previous_end = start, piece_end
        first = piece_start + -(-(start - piece_start) // step) * step
        last = min(end - w + (w + 1) // 2, piece_end - w)
        by_segment.append(np.arange(first, last + 1, step))
    counts = np.array([len(each) for each in by_segment])
    most = _most_of_each(counts)
    chosen = [
        each if len(each) <= most else np.sort(draw.choice(each, most, replace=False))
        for each in by_segment
    ]
    labels = np.repeat(np.arange(len(chosen)), [len(each) for each in chosen])
    return np.concatenate(chosen), labels


def _most_of_each(counts: NDArray[np.int64]) -> int:
    """Return how many samples a segment may have, so that all have MOST_SAMPLES at most."""
    most = int(counts.max())
    left = MOST_SAMPLES
    for number, count in enumerate(np.sort(counts).tolist()):
        share = left // (len(counts) - number)
        if count > share:
            return max(share, 1)
        left -= count
    return most


def folds(
    starts: NDArray[np.int64], classes: NDArray[np.int64], w: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return (training, test) samples of each fold, which share no point of the series.

    Blocks of samples of a segment that follow each other go to the folds in turn, each as many.
    Samples that overlap with one of the fold are not trained with.
    """
    fold_of = np.empty(len(starts), np.int64)
    for each in np.unique(classes):
        of_class = np.flatnonzero(classes == each)
        blocks = FOLDS * max(round(len(of_class) / (FOLDS * _BLOCK)), 1)
        count = max(len(of_class), FOLDS)
        fold_of[of_class] = np.arange(len(of_class)) * blocks // count % FOLDS
    found = []
    for fold in np.unique(fold_of):
        test = np.flatnonzero(fold_of == fold)
        behind = np.searchsorted(starts[test], starts)
        after = np.append(starts[test], np.iinfo(np.int64).max)[behind] - starts
        before = starts - np.insert(starts[test], 0, np.iinfo(np.int32).min)[behind]
        train = np.flatnonzero((after >= w) & (before >= w) & (fold_of != fold))
        if len(train):
            found.append((train, test))
    return found
