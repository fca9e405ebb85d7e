"""Devices beside fused jobs: they build BVHs and search vectors for a statement.

`SET backend` names who does it and `SET fallback` whether another may; what went otherwise is a
warning. All functions raise OperationalError where a device is asked for that cannot, and no other
backend may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.kernels.backends.choice import choose_builders
from raydb.kernels.backends.device import DeviceError
from raydb.kernels.backends.fallback import Fallback
from raydb.kernels.backends.registry import open_backend, open_search
from raydb.kernels.vector import graph_search

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from raydb.engine.context.statement_context import StatementContext
    from raydb.kernels.bvh.build_input import BuildControl, Source
    from raydb.kernels.bvh.bvh import Bvh
    from raydb.kernels.vector.exact_search import Neighbours, Vectors
    from raydb.kernels.vector.ivf import Ivf
    from raydb.kernels.vector.stop_rule import StopRule


def build(source: Source, control: BuildControl, context: StatementContext) -> tuple[Bvh, str]:
    """Return a BVH, and where it was built. Raises what `Backend.build` does, too."""
    builders = _builders(context)
    built = builders.first(lambda name: open_backend(name).build(source, control))
    context.warnings.extend(builders.warnings("built it"))
    return built, builders.described({})


def search_ivf(
    index: Ivf,
    queries: Vectors,
    k: int,
    nprobe: int,
    allowed: NDArray[np.bool_] | None,
    rule: StopRule,
    context: StatementContext,
) -> Neighbours:
    """Return what `ivf.search_ivf` does."""

    def search(name: str) -> Neighbours:
        return open_search(name)(index, queries, k, nprobe, allowed, rule=rule)

    return _answered(search, context)


def search_graph(
    index: Ivf,
    queries: Vectors,
    k: int,
    ef: int,
    allowed: NDArray[np.bool_] | None,
    context: StatementContext,
) -> Neighbours:
    """Return what `graph_search.search_graph` does: each step of a walk depends on the one before.

    So no other device takes one.
    """

    def search(name: str) -> Neighbours:
        if name != "cpu":
            raise DeviceError(f"{name}: the cpu walks along the graph of an hnsw index")
        return graph_search.search_graph(index, queries, k, ef, allowed)

    return _answered(search, context)


def _answered(search: Callable[[str], Neighbours], context: StatementContext) -> Neighbours:
    """Return what the first backend finds that can, and tell why others could not."""
    builders = _builders(context)
    found = builders.first(search)
    context.warnings.extend(builders.warnings("answered"))
    return found


def _builders(context: StatementContext) -> Fallback:
    options = context.settings.planner
    return Fallback(*choose_builders(options.backend, options.fallback))
