"""Calibrations of vector indexes: kept beside the index, and stale once its table has changed.

    queries (n, d)    the vectors of USING, which REINDEX asks again; none where rows were held out
    row_count         rows of the table from this number on are newer than the calibration
    visible_count     how many of those before it were visible

VACUUM and TRUNCATE number rows anew, and `row_count` with them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from raydb.kernels.stored.stored_arrays import between, rising
from raydb.kernels.vector import conformal, drift, exact_search, stop_rule
from raydb.planner.catalog import CalibrationInfo
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.stored.deferred import Deferred
    from raydb.kernels.stored.described import Described
    from raydb.kernels.stored.stored_arrays import StoredArrays
    from raydb.kernels.vector.ivf import Ivf
    from raydb.kernels.vector.stop_rule import Score
    from raydb.storage.tables.table import Table


@dataclass(frozen=True, eq=False, slots=True)
class StoredCalibration:
    """A calibration with what it was made of; see the module.

    null_queries: how many vectors of USING were NULL, which are passed over. Calibrations that were
    made together have the same array of queries.
    """

    calibration: conformal.Calibration
    queries: NDArray[np.float32]
    null_queries: int
    row_count: int
    visible_count: int

    @property
    def key(self) -> tuple[int, float, str]:
        """What only one calibration of an index has: k, fnr and score."""
        return self.calibration.k, self.calibration.fnr, self.calibration.rule.score


Calibrations = tuple[StoredCalibration, ...]

# Counts of queries are added up in 64 bits.
_MOST_QUERIES = 2**40

_COUNTS = ("null_queries", "row_count", "visible_count")


class DescribedCalibrations(Mapping[str, list[CalibrationInfo]]):
    """The calibrations of each index as the planner sees them, counted when they are asked for."""

    def __init__(
        self, known: Mapping[str, Deferred[Calibrations]], tables: Mapping[str, Table]
    ) -> None:
        self._known = known
        self._tables = tables

    def __getitem__(self, index: str) -> list[CalibrationInfo]:
        table = next(
            table
            for table in self._tables.values()
            if any(each.name == index for each in table.definition.ivf_indexes)
        )
        return [described(stored, table) for stored in self._known[index].get()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def described(stored: StoredCalibration, table: Table) -> CalibrationInfo:
    """Return a calibration with what has changed in its table since; an UPDATE is one of both."""
    kept = stored.row_count
    if table.live is not None:
        kept = int(np.count_nonzero(table.live[:kept]))
    return CalibrationInfo(stored.calibration, table.live_count - kept, stored.visible_count - kept)


def renumbered(known: Calibrations, live: NDArray[np.bool_]) -> Calibrations:
    """Return calibrations once only the rows in `live` are left."""
    return tuple(
        replace(stored, row_count=int(np.count_nonzero(live[: stored.row_count])))
        for stored in known
    )


def _plain() -> tuple[str, ...]:
    """Return the names of what a calibration has beside its rule and its reference."""
    names = [each.name for each in fields(conformal.Calibration)]
    return tuple(name for name in names if name not in ("rule", "reference"))


def to_arrays(known: Calibrations) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays of an index's calibrations by name, and the rest as JSON values."""
    samples = list({id(stored.queries): stored.queries for stored in known}.values())
    places = {id(queries): place for place, queries in enumerate(samples)}
    arrays: dict[str, NDArray[Any]] = {
        f"queries {place}": queries for place, queries in enumerate(samples)
    }
    described = []
    for number, stored in enumerate(known):
        reference = stored.calibration.reference
        arrays[f"cuts {number}"] = reference.cuts
        arrays[f"counts {number}"] = reference.counts
        described.append(
            {
                **{name: getattr(stored, name) for name in _COUNTS},
                "queries": places[id(stored.queries)],
                "calibration": {name: getattr(stored.calibration, name) for name in _plain()},
                "rule": asdict(stored.calibration.rule),
            }
        )
    return arrays, {"calibrations": described}


def from_arrays(arrays: StoredArrays, properties: Described, index: Deferred[Ivf]) -> Calibrations:
    """Return the calibrations of `to_arrays`; the arrays are used as they are, mapped ones too.

    All of it is checked. Raises OperationalError.
    """
    known = []
    for number, described in enumerate(properties["calibrations"].items()):
        cuts = arrays.take(f"cuts {number}", np.float64, (-1,), rising, between(0.0, np.inf))
        most = between(0, _MOST_QUERIES)
        counts = arrays.take(f"counts {number}", np.int64, (len(cuts) + 1,), most)
        name = f"queries {described['queries'].integer()}"
        numbers = [] if index.get().bits else [between(-exact_search.LARGEST, exact_search.LARGEST)]
        shape = -1, index.get().vectors.shape[1]
        queries = arrays.take(name, np.float32, shape, *numbers)
        known.append(
            StoredCalibration(
                _calibration(described, drift.Reference(cuts, counts), index.get()),
                queries,
                *(described[name].integer() for name in _COUNTS),
            )
        )
    return tuple(known)


def _calibration(
    described: Described, reference: drift.Reference, index: Ivf
) -> conformal.Calibration:
    each, rule = described["calibration"], described["rule"]
    confidence = each.find("confidence")
    score = cast(
        "Score", rule["score"].text(*stop_rule.SCORES if index.graph else stop_rule.LIST_SCORES)
    )
    return conformal.Calibration(
        k=each["k"].integer(1, max(len(index.row_ids), 1)),
        fnr=each["fnr"].number(0.0, 1.0),
        confidence=None if confidence is None else confidence.number(0.0, 1.0),
        rule=stop_rule.StopRule(
            score,
            rule["gamma"].number(0.0),
            rule["kreg"].integer(0, 2**31),
            rule["scale"].number(sys.float_info.min),
            rule["share"].number(0.0, 1.0),
            _threshold(rule, score),
        ),
        calibration_count=each["calibration_count"].integer(),
        tuning_count=each["tuning_count"].integer(),
        risk=each["risk"].number(0.0, 1.0),
        probes=each["probes"].number(0.0),
        nprobe=each["nprobe"].integer(0, 2**31),
        nprobe_risk=each["nprobe_risk"].number(0.0, 1.0),
        seed=each["seed"].integer(),
        held_out=each["held_out"].flag(),
        reference=reference,
    )


def _threshold(rule: Described, score: Score) -> float:
    """Return the threshold of a rule; for a walk it is a number of vectors."""
    if score == "ef":
        return rule["threshold"].number(1.0, 2.0**31)
    return rule["threshold"].number()
