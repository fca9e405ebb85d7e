"""Templates of the texts of one snapshot, which all sessions that mean the same by them share.

    text -> shape -> the template, filled -> the query that was prepared of it, filled -> a plan

What is kept is read by several threads at a time: what a template makes when it is first asked for
may be made twice, and is the same; which ones are kept changes under a lock.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from raydb.engine.plans.prepared_plan import PLAN_BYTES, job_bytes
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from raydb import sql
    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.fused.prepared_query import AnyPrepared
    from raydb.engine.plans.prepared_plan import PreparedPlan
    from raydb.engine.table_functions.vector.prepared_search import OpenSearch
    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo, Relations

    Parameters = Sequence[object] | Mapping[str, object]

# A dashboard has some dozens of texts, whose constants change.
MAX_SHAPES = 256

# Shapes that were there once.
MAX_KNOWN = 4096

# Of one shape: literals of other types, and constants that the plan depends on.
MAX_TEMPLATES = 8

# A plan with holes is prepared again where constants have asked for another plan.
MAX_PREPARED = 4

# What is prepared of plans takes up to 24 bytes for each cell that they touch.
MAX_BYTES = 2**26


@dataclass(slots=True)
class Preparing:
    """What is kept of a plan with holes.

    first: some literals and the plan with these, until the next ones come; a query is prepared of
    it then. query: the one that was prepared last, if any. count: how often. size_bytes: of both.
    """

    first: tuple[sql.Filling, PreparedPlan] | None = None
    query: AnyPrepared | OpenSearch | None = None
    count: int = 0
    size_bytes: int = 0


# One for all, that a child of a fork gets anew: whoever held it is no thread of the child.
_lock = threading.Lock()


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


class TemplateCache:
    """The templates of a snapshot, and what is prepared of them; the least recently used go."""

    def __init__(self) -> None:
        self._shapes: OrderedDict[int, None] = OrderedDict()  # by their hashes
        self._templates: OrderedDict[str, tuple[sql.Template, ...]] = OrderedDict()
        self._queries: WeakKeyDictionary[sql.OpenPlan, dict[PlannerOptions, Preparing]]
        self._queries = WeakKeyDictionary()
        self._query_bytes = 0
        self._catalog: CatalogInfo | None = None

    def catalog(self, snapshot: Snapshot) -> CatalogInfo:
        """Return what the binder and the planner see of the snapshot."""
        if self._catalog is None:
            self._catalog = snapshot.describe()
        return self._catalog

    def relations(self, snapshot: Snapshot) -> Relations:
        """Return which table or view a name means in the snapshot."""
        return snapshot.relations if self._catalog is None else self._catalog.relations

    def filled(self, shape: sql.Shape | None, parameters: Parameters) -> sql.Filled | None:
        """Return a template of a text's shape, filled in."""
        if shape is None:
            return None
        for template in self._templates.get(shape.key, ()):
            filled = template.fill(shape.constants, parameters)
            if filled is not None:
                with _lock:
                    if shape.key in self._templates:
                        self._templates.move_to_end(shape.key)
                return filled
        return None

    def fits(self, shape: sql.Shape) -> bool:
        """Tell whether there is a template for a text without parameters."""
        known = self._templates.get(shape.key, ())
        return any(each.fill(shape.constants, ()) is not None for each in known)

    def knows(self, shape: sql.Shape) -> bool:
        """Tell whether a text of a shape was there before: the first one makes no template."""
        key = hash(shape.key)
        with _lock:
            is_known = key in self._shapes
            note(self._shapes, key, MAX_KNOWN)
        return is_known

    def keep_template(self, shape: sql.Shape, template: sql.Template) -> None:
        """Keep a template; of a shape that has many already, for a while."""
        with _lock:
            known = self._templates.get(shape.key, ())
            self._templates[shape.key] = (template, *known[: MAX_TEMPLATES - 1])
            if len(self._templates) > MAX_SHAPES:
                self._templates.popitem(last=False)

    def preparing(self, filling: sql.Filling, options: PlannerOptions) -> Preparing:
        """Return what was prepared of a plan with holes, to be changed."""
        with _lock:
            known = self._queries.setdefault(filling.open_plan, {})
            return known.setdefault(options, Preparing())

    def keep_first(self, kept: Preparing, filling: sql.Filling, prepared: PreparedPlan) -> None:
        """Keep a plan with some literals, before it runs, to prepare a query of it."""
        size = kept.size_bytes + PLAN_BYTES + job_bytes(prepared.plan)
        with _lock:
            if self._make_room(kept, size):
                kept.first = filling, replace(prepared, jobs={}, scans={}, deltas={}, deferred={})

    def keep_query(self, kept: Preparing, query: AnyPrepared | OpenSearch | None) -> None:
        """Keep what was prepared of the first plan; others go where all are too much."""
        with _lock:
            count = kept.count + 1
            kept.first = kept.query = None
            if self._make_room(kept, PLAN_BYTES if query is None else query.size_bytes):
                kept.query = query
            kept.count = count

    def _make_room(self, kept: Preparing, size: int) -> bool:
        """Say whether there is room for so many bytes of a plan with holes; others may go."""
        if self._query_bytes + size - kept.size_bytes > MAX_BYTES:
            self._forget_queries()
        fits = size <= MAX_BYTES
        self._query_bytes += (size if fits else 0) - kept.size_bytes
        kept.size_bytes = size if fits else 0
        return fits

    def _forget_queries(self) -> None:
        for kept in self._queries.values():
            for each in kept.values():
                each.first, each.query, each.count, each.size_bytes = None, None, 0, 0
        self._query_bytes = 0


_shared: WeakKeyDictionary[Snapshot, dict[Hashable, TemplateCache]] = WeakKeyDictionary()


def shared_templates(snapshot: Snapshot, meaning: Hashable) -> TemplateCache:
    """Return the templates of the sessions that read a snapshot and mean the same by texts.

    meaning: what tells how a session reads a text, beside the snapshot.
    """
    known = _shared.setdefault(snapshot, {})
    return known.setdefault(meaning, TemplateCache())


def note(known: OrderedDict[int, None], key: int, most: int) -> None:
    """Note a hash; the one that was noted first goes where there are more than `most`."""
    known[key] = None
    if len(known) > most:
        known.popitem(last=False)
