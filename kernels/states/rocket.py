"""ROCKET and MiniROCKET: samples by the features of convolutions, and how like they are.

    samples (n, d, w)  ->  kernels, two features each, in deviations of what they are for noise
                       ->  products of all pairs (n, n)

Kernels, their biases and what their features are divided by depend on the seed, the channels and
the window alone, never on samples: a sample has its features without any other, so that none of a
fold can tell of another one.

Dempster, Petitjean and Webb, "ROCKET", 2020; Dempster, Schmidt and Webb, "MiniRocket", KDD 2021.
MiniROCKET takes its biases from samples, and both are scaled by samples; here noise is in their
place.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.kernels.states.loops.rocket_loops import Convolutions

KERNELS = 10_000

# Kernels whose features are there at a time: 1,000 samples have 4 MB of them.
_PART = 500
_LANES = 64

# Samples whose products are computed at a time, and kernels that are worth a thread.
_PRODUCT_ROWS = 64
_LEAST_KERNELS = 16

# What features are divided by at least: the deviation of one that hardly varies says little.
_LEAST_DEVIATION = 0.02

# MiniROCKET: three of nine taps weigh 2 and the others -1; at most so many dilations.
_SMALL_TAPS = 9
_MOST_DILATIONS = 32


def likeness(
    samples: NDArray[np.float64],
    classifier: str,
    seed: int,
    tell: Callable[[float], None] = lambda _: None,
) -> NDArray[np.float64]:
    """Return the products of the features of all pairs of samples (n, n).

    samples (n, d, w), each z-normalised by channel. classifier: 'rocket' or 'minirocket'.
    """
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415  (numba)
    from raydb.kernels.states.loops.rocket_loops import convolve, count_above  # noqa: PLC0415

    n, channels, w = samples.shape
    # A block of noise before the samples says how much each feature varies.
    blocks = in_lanes(np.concatenate((noise(channels, w, seed), samples)))
    lanes = len(blocks) * _LANES
    products = np.zeros((n, n))
    if classifier == "rocket":
        kernels = random_kernels(channels, w, KERNELS, seed)
        biases = np.empty((KERNELS, 0), np.float32)
        step, features_each = _PART, 2
    else:
        kernels = fixed_kernels(channels, w, seed)
        each = KERNELS // len(kernels.bias)
        biases = _noise_biases(kernels, blocks[:1], w, each)
        step, features_each = max(2 * _PART // each, 1), each
    norms = np.sqrt(np.add.reduceat((kernels.weights**2).sum(axis=1), kernels.starts[:-1]))
    count = len(kernels.bias)
    for start in range(0, count, step):
        tell(start / count)
        end = min(start + step, count)
        features = np.empty(((end - start) * features_each, lanes), np.float32)

        def run(part: slice, start: int = start, features: NDArray[np.float32] = features) -> None:
            some = features[part.start * features_each : part.stop * features_each]
            room = np.empty((w + 2, _LANES), np.float32)
            first, last = start + part.start, start + part.stop
            if classifier == "rocket":
                convolve(blocks, w, kernels, first, last, room, some)
                some[1::2] /= norms[first:last, None]
            else:
                count_above(blocks, w, kernels, (first, last), biases, room, some)
            deviations = some[:, :_LANES].std(axis=1, keepdims=True)
            some /= np.maximum(deviations, np.float32(_LEAST_DEVIATION))

        run_slices(run, end - start, _LEAST_KERNELS, step)
        _add_products(np.ascontiguousarray(features[:, _LANES : _LANES + n].T), products)
    return np.tril(products) + np.tril(products, -1).T


def noise(channels: int, w: int, seed: int) -> NDArray[np.float64]:
    """Return noise (lanes, d, w), z-normalised: white, pink and brown in turn.

    Its power falls by frequency to the power of 0, 1 and 2, as that of what is measured does.
    """
    draw = np.random.default_rng(seed)
    frequency = np.maximum(np.fft.rfftfreq(w), 1 / w)
    slopes = np.arange(_LANES)[:, None, None] % 3 / 2
    waves = np.fft.rfft(draw.standard_normal((_LANES, channels, w)), axis=2) / frequency**slopes
    return standard(np.fft.irfft(waves, w, axis=2), 0.0)


def _add_products(features: NDArray[np.float32], products: NDArray[np.float64]) -> None:
    """Add the products of the rows of features (n, f) to the lower triangle of all (n, n)."""
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415  (numba)
    from raydb.kernels.vector.loops.simd import PRODUCTS, add_up  # noqa: PLC0415

    n = len(features)

    def run(part: slice) -> None:
        start, end = part.start * _PRODUCT_ROWS, min(part.stop * _PRODUCT_ROWS, n)
        sums = np.empty((end - start, end), np.float32)
        add_up(PRODUCTS, features[:end], features[start:end], sums)
        products[start:end, :end] += sums

    run_slices(run, -(-n // _PRODUCT_ROWS), 1, 1)


def random_kernels(channels: int, w: int, count: int, seed: int) -> Convolutions:
    """Return ROCKET's random kernels for samples of some channels and w points."""
    from raydb.kernels.states.loops.rocket_loops import TAPS, Convolutions  # noqa: PLC0415  (numba)

    draw = np.random.default_rng(seed)
    lengths = draw.choice(np.array([7, 9, 11], np.int32), count)
    starts, chosen = _some_channels(channels, lengths, draw)
    owner = np.repeat(np.arange(count), np.diff(starts))
    beyond = np.arange(TAPS) >= lengths[owner, None]
    weights = draw.standard_normal((len(owner), TAPS)).astype(np.float32)
    weights[beyond] = 0
    weights -= (weights.sum(axis=1) / lengths[owner])[:, None]
    weights[beyond] = 0
    bias = draw.uniform(-1, 1, count).astype(np.float32)
    reach = np.log2(np.maximum((w - 1) / (lengths - 1), 1))
    dilations = (2 ** draw.uniform(0, reach)).astype(np.int32)
    span = (lengths - 1) * dilations
    is_padded = (draw.random(count) < 0.5) | (span >= w)
    paddings = np.where(is_padded, span // 2, 0).astype(np.int32)
    return Convolutions(starts, chosen, weights, lengths, dilations, paddings, bias)


def fixed_kernels(channels: int, w: int, seed: int) -> Convolutions:
    """Return MiniROCKET's kernels: 84 of nine taps, each with every dilation that fits in w."""
    from raydb.kernels.states.loops.rocket_loops import TAPS, Convolutions  # noqa: PLC0415  (numba)

    draw = np.random.default_rng(seed)
    heavy = np.array(list(combinations(range(_SMALL_TAPS), 3)))
    shapes = np.zeros((len(heavy), TAPS), np.float32)
    shapes[:, :_SMALL_TAPS] = -1
    np.put_along_axis(shapes, heavy, np.float32(2), axis=1)
    reach = np.log2(max((w - 1) / (_SMALL_TAPS - 1), 1))
    widths = np.unique((2 ** np.linspace(0, reach, _MOST_DILATIONS)).astype(np.int32))
    count = len(shapes) * len(widths)
    dilations = np.tile(widths, len(shapes))
    lengths = np.full(count, _SMALL_TAPS, np.int32)
    starts, chosen = _some_channels(channels, lengths, draw)
    weights = np.repeat(np.repeat(shapes, len(widths), axis=0), np.diff(starts), axis=0)
    span = (_SMALL_TAPS - 1) * dilations
    is_padded = (np.arange(count) % 2 == 0) | (span >= w)
    paddings = np.where(is_padded, span // 2, 0).astype(np.int32)
    bias = np.zeros(count, np.float32)
    return Convolutions(starts, chosen, weights, lengths, dilations, paddings, bias)


def _some_channels(
    channels: int, lengths: NDArray[np.int32], draw: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return random channels of each kernel, few more often than many, and where they start."""
    count = len(lengths)
    limit = np.minimum(channels, lengths)
    used = (2 ** draw.uniform(0, np.log2(limit + 1))).astype(np.int32)
    starts = np.concatenate(([0], np.cumsum(used))).astype(np.int32)
    owner = np.repeat(np.arange(count), used)
    # The first of all in a random order.
    order = np.argsort(draw.random((count, channels)), axis=1)
    return starts, order[owner, np.arange(len(owner)) - starts[owner]].astype(np.int32)


def _noise_biases(
    kernels: Convolutions, blocks: NDArray[np.float32], w: int, each: int
) -> NDArray[np.float32]:
    """Return biases of each kernel (c, each): even steps as far as the sums of noise reach."""
    from raydb.kernels.states.loops.rocket_loops import convolve  # noqa: PLC0415  (numba)

    count = len(kernels.bias)
    features = np.empty((2 * count, _LANES), np.float32)
    convolve(blocks, w, kernels, 0, count, np.empty((w + 2, _LANES), np.float32), features)
    # The greatest sums of noise, with either sign, are as far as biases tell samples apart.
    far = np.median(features[1::2], axis=1)[:, None]
    return (far * np.linspace(-1, 1, each + 2)[1:-1]).astype(np.float32)


def standard(samples: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Return samples (n, d, w) z-normalised by channel; level ones, by `least`, have zeros."""
    centred = samples - samples.mean(axis=2, keepdims=True)
    deviation = centred.std(axis=2, keepdims=True)
    is_level = deviation <= least
    found: NDArray[np.float64] = np.where(is_level, 0, centred / np.where(is_level, 1, deviation))
    return found


def in_lanes(samples: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return samples (b, d, 3 w, lanes): a lane each, between zeros."""
    n, channels, w = samples.shape
    blocks = np.zeros((-(-n // _LANES) * _LANES, channels, 3 * w), np.float32)
    blocks[:n, :, w : 2 * w] = samples
    return np.ascontiguousarray(blocks.reshape(-1, _LANES, channels, 3 * w).transpose(0, 2, 3, 1))
