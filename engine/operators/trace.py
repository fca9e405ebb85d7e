"""The trace of a run: the rows and the time of each node, for EXPLAIN ANALYZE.

A node's own time is what passed while it ran, less what passed in the nodes that it reads from.
Filters and computed columns in a row run together, morsel by morsel in threads; they share the
time of all by the work that each has done.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.engine.operators.relation import Relation
    from raydb.planner.plan.nodes import PhysicalPlan


@dataclass(slots=True)
class Entry:
    """What a node gave and took; `work` is the time in threads of one step among others.

    `parent` is the node that asked for its rows.
    """

    node: PhysicalPlan
    parent: Entry | None
    rows: int = 0
    seconds: float = 0.0
    work: float = 0.0


class Trace:
    """Collects the rows and the time of each node; nodes are told apart by identity.

    notes: what nodes say of their run. counts: what searches count in theirs. pictures: what they
    draw for a page of HTML.
    """

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._running: list[Entry] = []
        self._below: list[float] = []
        self._lock = threading.Lock()
        self.notes: dict[int, str] = {}
        self.counts: dict[int, Counter[str]] = {}
        self.pictures: list[str] = []

    def _entry(self, node: PhysicalPlan) -> Entry:
        # An entry keeps its node, so that no other one gets its identity.
        parent = self._running[-1] if self._running else None
        return self._entries.setdefault(id(node), Entry(node, parent))

    def run(self, node: PhysicalPlan, run: Callable[[], Relation]) -> Relation:
        """Run a node and note what it did."""
        entry = self._entry(node)
        with self._timed(entry):
            rows = run()
        entry.rows += rows.row_count
        return rows

    def note(self, node: PhysicalPlan, text: str) -> None:
        """Keep what a node, which runs, says of its run."""
        self.notes[id(node)] = text

    def add(self, node: PhysicalPlan, **counts: int) -> None:
        """Add to the counts of a node, which may run more than once."""
        self.counts.setdefault(id(node), Counter()).update(counts)

    @contextmanager
    def _timed(self, entry: Entry) -> Iterator[None]:
        self._running.append(entry)
        self._below.append(0.0)
        start = time.perf_counter()
        try:
            yield
        finally:
            passed = time.perf_counter() - start
            self._running.pop()
            entry.seconds += passed - self._below.pop()
            if self._below:
                self._below[-1] += passed

    def step(
        self, node: PhysicalPlan, step: Callable[[Relation], Relation]
    ) -> Callable[[Relation], Relation]:
        """Return a step of a chain that notes its rows and its work; threads may run it."""
        self._entry(node)

        def run(rows: Relation) -> Relation:
            start = time.perf_counter()
            found = step(rows)
            self.add_work(node, found.row_count, time.perf_counter() - start)
            return found

        return run

    def add_work(self, node: PhysicalPlan, row_count: int, seconds: float) -> None:
        """Note rows and work of a step of a chain that runs; any thread may do so."""
        entry = self._entry(node)
        is_top = bool(self._running) and self._running[-1] is entry
        with self._lock:
            entry.work += seconds
            # The rows of the top are counted where it ends.
            entry.rows += 0 if is_top else row_count

    def measured(self, plan: PhysicalPlan) -> dict[int, tuple[int, float]]:
        """Return the rows and the own time, in ms, of the plan's nodes by their identity.

        The time of a node that was made while the plan ran is its parent's.
        """
        known = set(_identities(plan))
        seconds = dict.fromkeys(known & self._entries.keys(), 0.0)
        for entry in self._entries.values():
            share = self._own(entry)
            owner: Entry | None = entry
            while owner is not None and id(owner.node) not in known:
                owner = owner.parent
            if owner is not None:
                seconds[id(owner.node)] += share
        return {key: (self._entries[key].rows, 1000 * own) for key, own in seconds.items()}

    def _own(self, entry: Entry) -> float:
        """Return a node's own time; a step's is its share of the time of its chain."""
        top = entry if entry.seconds else entry.parent
        if top is None or not entry.work:
            return entry.seconds
        steps = (e for e in self._entries.values() if e.parent is top and not e.seconds)
        return top.seconds * entry.work / (top.work + sum(each.work for each in steps))


def _identities(plan: PhysicalPlan) -> Iterator[int]:
    yield id(plan)
    for source in plan.children:
        yield from _identities(source)
