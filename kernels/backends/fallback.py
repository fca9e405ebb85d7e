"""Backends in the order in which they are tried: where a device fails, the next one answers."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

from raydb.errors import OperationalError
from raydb.kernels.backends.backend import PreparedJob
from raydb.kernels.backends.device import DeviceError, NotReadyError
from raydb.kernels.backends.registry import open_backend
from raydb.kernels.bvh.sieve import prepare_sieved
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import FusedJob, FusedResult, Located
    from raydb.kernels.bvh.bvh import Bvh, Measure

T = TypeVar("T")

# What EXPLAIN ANALYZE shows of a run, and what it calls it.
FIGURES = {
    "device_ms": "ms on the device",
    "scene_ms": "ms to make the scene before",
    "devices": "devices",
    "turns": "turns",
    "rays": "rays",
    "hits": "hits",
}


@dataclass(eq=False, slots=True)
class Fallback:
    """Backends in their order, and how the last run of something went.

    obstacles: why others, which come before these, are not tried.
    ran_on: the backend that answered. failed: why those before it could not. missed: those of these
        reasons that a result must tell, because the backend was asked for by name.
    """

    names: tuple[str, ...]
    obstacles: Sequence[str] = ()
    ran_on: str = ""
    failed: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def first(self, run: Callable[[str], T]) -> T:
        """Run on each backend in turn until one can; others are not asked."""
        self.failed, self.missed = list(self.obstacles), list(self.obstacles)
        for name in self.names:
            try:
                result = run(name)
            except DeviceError as error:
                self.failed.append(str(error))
                if not isinstance(error, NotReadyError):
                    self.missed.append(str(error))
            else:
                self.ran_on = name
                return result
        reasons = "; ".join(self.failed)
        raise OperationalError(f"{reasons}; SET fallback = 'next' lets another backend answer")

    def described(self, figures: Mapping[str, float]) -> str:
        """Return the backend that answered, and in brackets why others did not and its figures.

        >>> fallback.described({})
        'cpu (cuda: the device's memory is full)'
        """
        notes = list(self.failed)
        for name, unit in FIGURES.items():
            if name in figures:
                digits = 3 if name.endswith("_ms") else 0
                notes.append(f"{figures[name]:.{digits}f} {unit}")
        return f"{self.ran_on} ({'; '.join(notes)})" if notes else self.ran_on

    def warnings(self, done: str) -> list[str]:
        """Return a sentence for each backend that could not, with who has `done` it."""
        return [f"{reason}; {self.ran_on} {done}" for reason in self.missed]


class FallbackJob(PreparedJob):
    """A job that each backend prepares when it is reached."""

    def __init__(self, names: tuple[str, ...], bvh: Bvh, job: FusedJob) -> None:
        self._bvh = bvh
        self._job = job
        self._prepared: dict[str, PreparedJob] = {}
        self._fallback = Fallback(names)

    @property
    def figures(self) -> Mapping[str, float]:
        """What the backend that answered measured."""
        prepared = self._prepared.get(self._fallback.ran_on)
        return {} if prepared is None else prepared.figures

    def launch(self) -> FusedResult:
        """Launch on the first backend that can."""
        return self._fallback.first(lambda name: self._on(name).launch())

    def locate(self) -> Located:
        """Locate on the first backend that can."""
        return self._fallback.first(lambda name: self._on(name).locate())

    def accumulate(
        self,
        functions: Sequence[str],
        measures: Sequence[Measure],
        groups: NDArray[np.int64],
        group_count: int,
    ) -> FusedResult:
        """Accumulate on the first backend that can; it is part of the run that located the rows."""
        return self._fallback.first(
            lambda name: self._on(name).accumulate(functions, measures, groups, group_count)
        )

    def ran_on(self) -> str | None:
        """Say who answered last, with figures and why others did not."""
        return self._fallback.described(self.figures) if self._fallback.ran_on else None

    def warnings(self) -> list[str]:
        """Return what a result must say of the last run."""
        return self._fallback.warnings("answered")

    def _on(self, name: str) -> PreparedJob:
        if name not in self._prepared:
            self._prepared[name] = open_backend(name).prepare(self._bvh, self._job)
        return self._prepared[name]


def prepare_job(names: tuple[str, ...], bvh: Bvh, job: FusedJob) -> PreparedJob:
    """Return a job for the first of some backends that can run it, be it sieved or not."""
    bvh = bvh.with_checked_rows()
    if job.sieved:
        return prepare_sieved(bvh, job, lambda rest: prepare_job(names, bvh, rest))
    if names == ("cpu",):
        return open_backend("cpu").prepare(bvh, job)
    return FallbackJob(names, bvh, job)
