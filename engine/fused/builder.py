"""Where the BVHs of a statement are built, as SET says, and what the statement tells of it."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raydb.kernels.chain import build_notices, describe_build
from raydb.kernels.choice import choose_builder, load_backend

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.kernels.bvh import Bvh
    from raydb.kernels.bvh_rows import BuildControl, Source
    from raydb.planner import PlannerOptions


@dataclass(eq=False, slots=True)
class Builder:
    """Builds BVHs for one session. told: what went otherwise than asked for, to be taken away."""

    options: Callable[[], PlannerOptions]
    told: list[str] = field(default_factory=list)

    def build(self, source: Source, control: BuildControl) -> tuple[Bvh, str]:
        """Return a BVH, and where it was built.

        Raises what `Backend.build` does, and OperationalError where a device is asked for that
        cannot, and no other backend may.
        """
        options = self.options()
        name, obstacle = choose_builder(options.backend, options.fallback)
        backend = load_backend(name)
        built = backend.build(source, control)
        if obstacle is not None:
            self.told.append(f"{obstacle}; {name} built it")
            return built, f"{name} ({obstacle})"
        self.told.extend(build_notices(backend))
        return built, describe_build(backend)

    def taken(self) -> tuple[str, ...]:
        """Return what is to be told, once."""
        told = tuple(dict.fromkeys(self.told))
        self.told.clear()
        return told


builder: ContextVar[Builder | None] = ContextVar("raydb builder", default=None)
"""What builds for the running statement. Merges in the background have none: the CPU builds, and
the device is left to queries."""


def build(source: Source, control: BuildControl) -> tuple[Bvh, str]:
    """Return a BVH, and where it was built, as the running statement has it."""
    current = builder.get()
    if current is not None:
        return current.build(source, control)
    return load_backend("cpu").build(source, control), "cpu"
