"""What a statement asks of devices beside its fused jobs: to build BVHs, to search vectors.

`SET backend` names who does it and `SET fallback` whether another may; what went otherwise is told.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raydb.kernels.backends.choice import choose_builders
from raydb.kernels.backends.fallback import Fallback
from raydb.kernels.backends.registry import open_backend, open_search
from raydb.kernels.vector import ivf
from raydb.kernels.vector.stop_rule import ANYWHERE

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from raydb.kernels.bvh.build_input import BuildControl, Source
    from raydb.kernels.bvh.bvh import Bvh
    from raydb.kernels.vector.exact_search import Neighbours, Vectors
    from raydb.kernels.vector.ivf import Ivf
    from raydb.kernels.vector.stop_rule import StopRule
    from raydb.planner import PlannerOptions


@dataclass(eq=False, slots=True)
class Devices:
    """The devices of one session. told: what went otherwise than asked for, to be taken away."""

    options: Callable[[], PlannerOptions]
    told: list[str] = field(default_factory=list)

    def build(self, source: Source, control: BuildControl) -> tuple[Bvh, str]:
        """Return a BVH, and where it was built.

        Raises what `Backend.build` does, and OperationalError where a device is asked for that
        cannot, and no other backend may.
        """
        builders = self._builders()
        built = builders.first(lambda name: open_backend(name).build(source, control))
        self.told += builders.warnings("built it")
        return built, builders.described({})

    def search_ivf(
        self,
        index: Ivf,
        queries: Vectors,
        k: int,
        nprobe: int,
        allowed: NDArray[np.bool_] | None,
        rule: StopRule,
    ) -> Neighbours:
        """Return what `search_ivf` does. Raises OperationalError as `build`."""

        def search(name: str) -> Neighbours:
            return open_search(name)(index, queries, k, nprobe, allowed, rule=rule)

        builders = self._builders()
        found = builders.first(search)
        self.told += builders.warnings("answered")
        return found

    def taken(self) -> tuple[str, ...]:
        """Return what is to be told, once."""
        told = tuple(dict.fromkeys(self.told))
        self.told.clear()
        return told

    def _builders(self) -> Fallback:
        options = self.options()
        return Fallback(*choose_builders(options.backend, options.fallback))


devices: ContextVar[Devices | None] = ContextVar("raydb devices", default=None)
"""Those of the running statement. Merges in the background have none: the CPU builds, and devices
are left to queries."""


def build(source: Source, control: BuildControl) -> tuple[Bvh, str]:
    """Return a BVH, and where it was built, as the running statement has it."""
    current = devices.get()
    if current is not None:
        return current.build(source, control)
    return open_backend("cpu").build(source, control), "cpu"


def search_ivf(
    index: Ivf,
    queries: Vectors,
    k: int,
    nprobe: int,
    allowed: NDArray[np.bool_] | None = None,
    rule: StopRule = ANYWHERE,
) -> Neighbours:
    """Return what `search_ivf` does, searched as the running statement has it."""
    current = devices.get()
    if current is not None:
        return current.search_ivf(index, queries, k, nprobe, allowed, rule)
    return ivf.search_ivf(index, queries, k, nprobe, allowed, rule=rule)
