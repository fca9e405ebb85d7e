"""Backends in the order in which they are tried: where a device fails, the next one answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from raydb.errors import OperationalError
from raydb.kernels.backends.device import DeviceError
from raydb.kernels.bvh.sieve import Sifted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import Backend, FusedJob, FusedResult
    from raydb.kernels.bvh.build_input import BuildControl, Source
    from raydb.kernels.bvh.bvh import Bvh, Measure

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Attempt:
    """What each backend has prepared for a job, and how its last run went.

    ran_on: the backend that answered. failed: for each one that could not, why.
    """

    prepared: dict[str, object] = field(default_factory=dict)
    ran_on: str = ""
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def figures(self) -> dict[str, float]:
        """Return what the backend that answered measured: device_ms, rows, rays, hits."""
        found: dict[str, float] = getattr(self.prepared.get(self.ran_on), "figures", {})
        return found


class ChainBackend:
    """A backend made of several; `open_backend` returns one of them by name, or DeviceError."""

    def __init__(self, names: Sequence[str], open_backend: Callable[[str], Backend]) -> None:
        self.name = names[0]
        self._names = tuple(names)
        self._open = open_backend
        self._attempt = Attempt()
        self.built = Attempt()

    def build(self, source: Source, control: BuildControl) -> Bvh:
        """Build on the first backend that can; `built` tells of it."""
        return self._first(self.built, lambda name: self._open(name).build(source, control))

    def prepare(self, bvh: Bvh, job: FusedJob) -> Attempt:
        """Prepare nothing yet: a backend that is not reached is not asked."""
        del bvh, job
        return Attempt()

    def launch(self, bvh: Bvh, job: FusedJob, prepared: object) -> FusedResult:
        """Launch on the first backend that can."""
        attempt = _attempt(prepared)
        return self._first(
            attempt,
            lambda name: self._open(name).launch(bvh, job, self._made(attempt, name, bvh, job)),
        )

    def locate(
        self, bvh: Bvh, job: FusedJob, prepared: object
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Locate on the first backend that can."""
        attempt = _attempt(prepared)
        return self._first(
            attempt,
            lambda name: self._open(name).locate(bvh, job, self._made(attempt, name, bvh, job)),
        )

    def accumulate(
        self,
        functions: Sequence[str],
        measures: Sequence[Measure],
        groups: NDArray[np.int64],
        group_count: int,
    ) -> FusedResult:
        """Accumulate on the first backend that can; it is part of the run that located the rows."""
        return self._first(
            self._attempt,
            lambda name: self._open(name).accumulate(functions, measures, groups, group_count),
        )

    def _made(self, attempt: Attempt, name: str, bvh: Bvh, job: FusedJob) -> object:
        self._attempt = attempt
        if name not in attempt.prepared:
            attempt.prepared[name] = self._open(name).prepare(bvh, job)
        return attempt.prepared[name]

    def _first(self, attempt: Attempt, run: Callable[[str], T]) -> T:
        """Run on each backend in turn until one can; others are not asked."""
        attempt.failed.clear()
        for name in self._names:
            try:
                result = run(name)
            except DeviceError as error:
                attempt.failed[name] = str(error)
            else:
                attempt.ran_on = name
                return result
        reasons = "; ".join(attempt.failed.values())
        raise OperationalError(f"{reasons}; SET fallback = 'next' lets another backend answer")


def _attempt(prepared: object) -> Attempt:
    assert isinstance(prepared, Attempt)
    return prepared


def _attempt_of(prepared: object) -> Attempt | None:
    """Return the attempt of a prepared job; a sieved job has it for the rows that are left."""
    inner = prepared.prepared if isinstance(prepared, Sifted) else prepared
    return inner if isinstance(inner, Attempt) else None


def describe_run(prepared: object) -> str | None:
    """Say which backend answered last, with its figures and why others did not; None for the CPU's.

    >>> describe_run(prepared)
    'cpu (cuda: the device's memory is full)'
    """
    attempt = _attempt_of(prepared)
    if attempt is None or not attempt.ran_on:
        return None
    return _described(attempt)


def describe_build(backend: Backend) -> str:
    """Say where a backend has built last, and why others could not.

    >>> describe_build(backend)
    'cpu (cuda: the device's memory is full)'
    """
    return _described(backend.built) if isinstance(backend, ChainBackend) else backend.name


FIGURES = {
    "device_ms": "ms on the device",
    "scene_ms": "ms to make the scene before",
    "devices": "devices",
    "turns": "turns",
    "rays": "rays",
    "hits": "hits",
}


def _described(attempt: Attempt) -> str:
    """Return the backend that answered, and in brackets why others did not and its figures."""
    told = list(attempt.failed.values())
    for name, unit in FIGURES.items():
        if name in attempt.figures:
            figure = attempt.figures[name]
            told.append(f"{figure:.3f} {unit}" if name.endswith("_ms") else f"{figure:.0f} {unit}")
    return f"{attempt.ran_on} ({'; '.join(told)})" if told else attempt.ran_on


def notices(prepared: object) -> list[str]:
    """Return what a result must say of its last run: which backends failed, and who answered."""
    attempt = _attempt_of(prepared)
    if attempt is None:
        return []
    return [f"{reason}; {attempt.ran_on} answered" for reason in attempt.failed.values()]


def build_notices(backend: Backend) -> list[str]:
    """Return what a statement must say of a BVH that it built: which backends could not."""
    if not isinstance(backend, ChainBackend):
        return []
    built = backend.built
    return [f"{reason}; {built.ran_on} built it" for reason in built.failed.values()]
