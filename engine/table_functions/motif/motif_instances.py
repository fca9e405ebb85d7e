"""Instances of a motif: some of them at random, or all of them one after the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from raydb.engine.table_functions.motif.instance_rows import Instances
from raydb.engine.table_functions.motif.motif_search import (
    TimeIsUp,
    count_exactly,
    part_of,
    prepare_trees,
)
from raydb.errors import OperationalError
from raydb.kernels.motif.estimate import sample_of_several
from raydb.kernels.motif.exact import enumerate_instances, list_matches
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from raydb.engine.table_functions.motif.graph_cache import EdgeGraph
    from raydb.engine.table_functions.motif.motif_question import MotifQuestion
    from raydb.engine.table_functions.motif.motif_search import Clock, Plains, Search
    from raydb.kernels.motif.tree_choice import PreparedMotif

# Where drawing finds nothing in this part of the time, or these seconds, instances are counted.
LOOK_SHARE, LOOK_SECONDS = 1 / 8, 2.0

# Of no more instances a sample is chosen from a list of all: 84 MB at 12 edges and 8 vertices.
LISTED_INSTANCES = 2**19

# What an instance of a sample holds for each of its edges and vertices, until it is a row.
_INSTANCE_BYTES = 32

NO_INSTANCE = "there is no instance"


def listed(
    asked: MotifQuestion, edges: EdgeGraph, plains: Plains, clock: Clock
) -> Iterator[Instances]:
    """Yield all instances, some at a time: those of one plain motif after those of another."""
    clock.make_ready("list")
    tell = clock.teller("list", math.inf)
    variants = [variant for variant, _ in plains]
    first = 1
    for place, (variant, conditions) in enumerate(plains):
        blocks = list_matches(
            *(edges.graph, variant.motif, edges.clamp(asked.delta), asked.ties, conditions),
            part_of(tell, place, len(plains)),
        )
        for matches, _ in blocks:
            places = np.full(len(matches), place)
            yield Instances(edges, asked, variants, matches, places, first)
            first += len(matches)


def sample(search: Search) -> tuple[NDArray[np.int64], NDArray[np.int64], str]:
    """Return random instances, the graph's edges by edge of the motif, and how they were found.

    And the place of the plain motif of each.
    """
    asked, clock = search.asked, search.clock
    assert asked.sample_count is not None
    motif = asked.written.motif
    numbers = asked.sample_count * (len(motif.edges) + motif.vertex_count)
    search.memory.check(_INSTANCE_BYTES * numbers, f"a sample of {asked.sample_count} instances")
    counted = None if search.method == "timest" else count_exactly(search)
    if counted is not None and counted.count <= LISTED_INSTANCES:
        return _choose(search, counted.count)
    if search.method == "exact":
        raise OperationalError(
            f"motif_sample() lists up to {LISTED_INSTANCES} instances, and there are more; "
            "let method => 'timest' draw them"
        )
    clock.make_ready("draw")
    prepared = prepare_trees(search)
    if prepared is None:
        raise OperationalError(
            f"{asked.function}() was not ready to sample within {asked.max_seconds:g} seconds; "
            "raise max_seconds"
        )
    if sum(each.total_weight for each in prepared) == 0:
        return *_no_instances(asked), NO_INSTANCE
    found = _draw(search, prepared, min(LOOK_SHARE * clock.left, LOOK_SECONDS))
    if not len(found[0]) and search.method == "timest":
        # Trees without a match among them: perhaps there is none, which only counting can tell.
        counted = count_exactly(replace(search, method="auto"))
        if counted is not None and counted.count <= LISTED_INSTANCES:
            return _choose(search, counted.count)
    if len(found[0]) < asked.sample_count:
        found = _draw(search, prepared, clock.left)
    return *found, "timest"


def _draw(
    search: Search, prepared: list[PreparedMotif], seconds: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return random instances as far as they are found by the tree within the seconds."""
    asked = search.asked
    assert asked.sample_count is not None
    return sample_of_several(
        *(prepared, asked.sample_count, asked.seed),
        max_seconds=seconds,
        keep_going=search.clock.teller("sample", math.inf),
    )


def _no_instances(asked: MotifQuestion) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.empty((0, len(asked.written.motif.edges)), np.int64), np.empty(0, np.int64)


def _choose(search: Search, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], str]:
    """Return instances chosen from all of them, of which there are so many."""
    asked, clock = search.asked, search.clock
    if not count:
        return *_no_instances(asked), NO_INSTANCE
    clock.make_ready("list")
    tell = clock.teller("list", clock.left)
    listed: list[NDArray[np.int64]] = []
    try:
        for done, (variant, conditions) in enumerate(search.plains):
            edges, _ = enumerate_instances(
                *(search.graph, variant.motif, search.delta, asked.ties, count),
                part_of(tell, done, len(search.plains)),
                conditions,
            )
            listed.append(edges)
    except TimeIsUp:
        raise OperationalError(
            f"motif_sample() has not listed {count} instances within {asked.max_seconds:g} "
            "seconds; raise max_seconds, or let method => 'timest' draw them"
        ) from None
    generator = np.random.default_rng(asked.seed)
    chosen = generator.integers(0, count, asked.sample_count)
    places = np.repeat(np.arange(len(listed)), [len(edges) for edges in listed])
    how = f"exact, {count} instances listed"
    return np.concatenate(listed)[chosen], places[chosen], how
