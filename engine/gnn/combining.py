"""What comes of the models or the gradients of parts: averages, and partial reduce.

Models are averaged by the numbers of training nodes: Huang et al., "CATGNN", 2024, section 3.3.
Gradients are combined of the workers that are ready: Cao et al., "NeutronCloud", PVLDB 19(1), 2025,
section 5.3. A round ends when its time is over and more than half of the workers are ready; a
worker that is not goes on, and its gradient joins the round in which it comes.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

WARM_ROUNDS = 3
"""So many rounds wait for all workers, and tell how long one usually takes."""


BETAS = 0.9, 0.999
"""Of Adam."""

NOISE_S = 0.01
"""A worker that is so many seconds late is not slow: it had to wait for a processor."""


def average(models: Sequence[Arrays], weights: Sequence[float]) -> dict[str, NDArray[Any]]:
    """Return the average of models, each a dict of the same arrays.

    Integers, such as counts of batches, are those of the first model with a weight.
    """
    total = float(sum(weights))
    assert total > 0, "no model has a training node"
    found = {}
    for name, first in models[0].items():
        if first.dtype.kind != "f":
            found[name] = next(m[name] for m, w in zip(models, weights, strict=True) if w > 0)
            continue
        mean = np.zeros(first.shape, np.float64)
        for model, weight in zip(models, weights, strict=True):
            if weight:
                mean += (weight / total) * model[name]
        found[name] = mean.astype(first.dtype)
    return found


def second_moment(
    first: NDArray[Any], mean: NDArray[Any], second: NDArray[Any], steps: int
) -> NDArray[Any]:
    """Return Adam's second moment of the mean gradient of some steps, which is ours.

    first, second: the moments before them; mean: the average of the first moments after them, over
    all parts. Gradients of parts differ, and the average of their squares is larger than the square
    of their average: with it steps would be the smaller, the more parts there are.
    """
    kept, slow = BETAS[0] ** steps, BETAS[1] ** steps
    gradient = (mean - kept * first) / (1 - kept)
    return (slow * second + (1 - slow) * gradient * gradient).astype(second.dtype)


def combine_gradients(
    sums: Sequence[Arrays],
    counts: Sequence[Sequence[int]],
    all_counts: Sequence[int],
    layer_of: Mapping[str, int],
) -> dict[str, NDArray[Any]]:
    """Return the gradient of the mean loss of all training nodes, as some workers tell it.

    sums: of each worker that is ready, the gradients of the sum of its losses, by parameter.
    counts: of each, how many nodes contribute to gradients at each layer; the last is the number of
    training nodes. all_counts: those of all workers. layer_of: the place in counts of each
    parameter. Equation 14, and the same where all are ready as one worker would have it.
    """
    training = max(all_counts[-1], 1)
    found = {}
    for name, layer in layer_of.items():
        heard = sum(each[layer] for each in counts)
        total = np.zeros(sums[0][name].shape, np.float64)
        for each in sums:
            total += each[name]
        scale = all_counts[layer] / heard / training if heard else 0.0
        found[name] = (scale * total).astype(sums[0][name].dtype)
    return found


class PartialReduce:
    """Says when a round is over: K of M workers, the slack alpha, a bound of staleness.

    workers: those that have training nodes. alpha: how much longer than usual a round may take,
    infinite to wait for all. staleness: each worker joins at least one of so many rounds.
    """

    def __init__(self, workers: Collection[int], alpha: float, staleness: int) -> None:
        self.workers, self.alpha, self.staleness = frozenset(workers), alpha, staleness
        self.rounds = 0
        self.least = min(len(self.workers) // 2 + 1, len(self.workers))
        self._joined = dict.fromkeys(self.workers, 0)
        self._times: dict[int, list[float]] = {each: [] for each in self.workers}
        self.usual: float | None = None

    def note(self, worker: int, seconds: float) -> None:
        """Hear how long a worker took; the first rounds tell what is usual."""
        if self.usual is None:
            self._times[worker].append(seconds)

    def must_wait_for(self, worker: int) -> bool:
        """Tell whether a worker has to join this round."""
        return self.rounds - self._joined[worker] >= self.staleness - 1

    def is_over(self, ready: Collection[int], elapsed: float) -> bool:
        """Tell whether a round is over that has taken so many seconds."""
        missing = self.workers - set(ready)
        if not missing:
            return True
        if self.usual is None or len(ready) < self.least:
            return False
        if any(self.must_wait_for(each) for each in missing):
            return False
        return elapsed >= self.patience

    @property
    def patience(self) -> float:
        """How many seconds a round takes before those go on that are ready."""
        return math.inf if self.usual is None else self.usual * (1 + self.alpha) + NOISE_S

    def end(self, joined: Collection[int]) -> None:
        """End a round that some workers have joined."""
        self.rounds += 1
        for each in joined:
            self._joined[each] = self.rounds
        if self.usual is None and self.rounds >= WARM_ROUNDS:
            # One that is slow from the start on must not be what is usual.
            self.usual = statistics.median(
                statistics.median(each) for each in self._times.values() if each
            )
