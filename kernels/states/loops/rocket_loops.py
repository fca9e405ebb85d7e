"""The features of convolutions.

    samples of a block, a lane each:  sums of taps at a time  ->  greatest, count above 0

Lanes are samples, so that nothing is added across lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.jit import compiled, leaf

if TYPE_CHECKING:
    from numpy.typing import NDArray

TAPS = 11


class Convolutions(NamedTuple):
    """Random kernels: what each adds of which channels at which distances.

    starts (c + 1): where in channels and weights (t, 11) those of a kernel are; the taps beyond its
    length have no weight. lengths, dilations, paddings (c) in points; bias (c).
    """

    starts: NDArray[np.int32]
    channels: NDArray[np.int32]
    weights: NDArray[np.float32]
    lengths: NDArray[np.int32]
    dilations: NDArray[np.int32]
    paddings: NDArray[np.int32]
    bias: NDArray[np.float32]


@leaf
def _add_taps(
    rows: NDArray[np.float32],
    start: int,
    dilation: int,
    length: int,
    weights: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> None:
    """Add the taps of a channel (rows, lanes) at a time to the sums of the lanes."""
    second = start + dilation
    third, fourth, fifth = second + dilation, second + 2 * dilation, second + 3 * dilation
    sixth, seventh = second + 4 * dilation, second + 5 * dilation
    for lane in range(len(sums)):
        sums[lane] += (
            (weights[0] * rows[start, lane] + weights[1] * rows[second, lane])
            + (weights[2] * rows[third, lane] + weights[3] * rows[fourth, lane])
            + (weights[4] * rows[fifth, lane] + weights[5] * rows[sixth, lane])
            + weights[6] * rows[seventh, lane]
        )
    for tap in range(7, length, 2):
        one, other = start + tap * dilation, start + (tap + 1) * dilation
        for lane in range(len(sums)):
            sums[lane] += weights[tap] * rows[one, lane] + weights[tap + 1] * rows[other, lane]


@leaf
def _add_channels(
    sample: NDArray[np.float32],
    start: int,
    kernels: Convolutions,
    kernel: int,
    sums: NDArray[np.float32],
) -> None:
    """Add what a kernel gives at a time to the sums of the lanes of a block."""
    length, dilation = kernels.lengths[kernel], kernels.dilations[kernel]
    for at in range(kernels.starts[kernel], kernels.starts[kernel + 1]):
        rows = sample[kernels.channels[at]]
        _add_taps(rows, start, dilation, length, kernels.weights[at], sums)


@compiled
def convolve(
    blocks: NDArray[np.float32],
    w: int,
    kernels: Convolutions,
    first: int,
    end: int,
    room: NDArray[np.float32],
    features: NDArray[np.float32],
) -> None:
    """Set features (2 (end - first), n or more) to the share above 0 and the greatest sum of each.

    blocks (b, d, 3 w, lanes): samples of w points by channel, between as many zeros. room (2 or
    more, lanes). The features of a sample stand in a column.
    """
    lanes = blocks.shape[3]
    sums, counts = room[0], room[1]
    for block in range(len(blocks)):
        from_lane = block * lanes
        for kernel in range(first, end):
            length, dilation = kernels.lengths[kernel], kernels.dilations[kernel]
            padding = kernels.paddings[kernel]
            times = w + 2 * padding - (length - 1) * dilation
            counts[:] = 0.0
            most = features[2 * (kernel - first) + 1, from_lane : from_lane + lanes]
            most[:] = -np.inf
            bias = kernels.bias[kernel]
            for time in range(times):
                sums[:] = bias
                _add_channels(blocks[block], w + time - padding, kernels, kernel, sums)
                for lane in range(lanes):
                    counts[lane] += (
                        np.float32(1.0) if sums[lane] > np.float32(0.0) else np.float32(0.0)
                    )
                    most[lane] = max(most[lane], sums[lane])
            share = features[2 * (kernel - first), from_lane : from_lane + lanes]
            for lane in range(lanes):
                share[lane] = counts[lane] / np.float32(times)


@compiled
def count_above(
    blocks: NDArray[np.float32],
    w: int,
    kernels: Convolutions,
    bounds: tuple[int, int],
    biases: NDArray[np.float32],
    room: NDArray[np.float32],
    features: NDArray[np.float32],
) -> None:
    """Set features (each (end - first), n or more) to the shares of sums above each bias.

    bounds: the kernels first .. end. biases (c, each). room (w or more, lanes).
    """
    first, end = bounds
    lanes, each = blocks.shape[3], biases.shape[1]
    for block in range(len(blocks)):
        from_lane = block * lanes
        for kernel in range(first, end):
            span = (kernels.lengths[kernel] - 1) * kernels.dilations[kernel]
            padding = kernels.paddings[kernel]
            times = w + 2 * padding - span
            for time in range(times):
                room[time] = np.float32(0.0)
                _add_channels(blocks[block], w + time - padding, kernels, kernel, room[time])
            for number in range(each):
                row = (kernel - first) * each + number
                share = features[row, from_lane : from_lane + lanes]
                share[:] = np.float32(0.0)
                bias = biases[kernel, number]
                part = np.float32(1.0) / np.float32(times)
                for time in range(times):
                    for lane in range(lanes):
                        above = room[time, lane] > bias
                        share[lane] += part if above else np.float32(0.0)
