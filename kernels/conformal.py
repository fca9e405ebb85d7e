"""Calibration of an IVF index: when to stop, so that at most a share of neighbours is missed.

queries   ->   a tuning split, and a calibration split disjoint from it
split     ->   exact neighbours   ->   the rank of the list that each lies in, and scores at it
tuning    ->   gamma, kreg: those with the fewest lists   ->   calibration: the threshold

A missed share (FNR) of `fnr` is promised in the mean over queries that are exchangeable with those
of the calibration split, by conformal risk control: Angelopoulos et al., Conformal Risk Control
(ICLR 2024), theorem 1; Horchidan et al., ConANN (PVLDB 19, 2025), section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raydb.kernels.drift import Reference
    from raydb.kernels.stop import StopRule


@dataclass(frozen=True, eq=False, slots=True)
class Calibration:
    """What is promised for k rows, and how it is kept.

    fnr: the mean share of the k nearest rows that is missed, at most. calibration_count,
    tuning_count: queries that set the threshold, and the rule's other numbers. risk, probes: the
    calibration queries' mean missed share and number of lists under the rule. nprobe, nprobe_risk:
    the fixed number of lists with the same promise, and its missed share. held_out: the queries
    were rows of the index, each searched for among the others. reference: for the drift monitor.
    """

    k: int
    fnr: float
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


def least_queries(fnr: float) -> int:
    """Return the least size of a calibration split that can promise a missed share of `fnr`."""
    # 1 / fnr may be off by its last bit: 1 / 0.1 - 1 is 9, not 9.000000000000002.
    return max(1, ceil(round(1 / fnr - 1, 9)))
