"""The plan cache: statements that ran before start further on the next time.

    the same text and parameters     the physical plan, ready to run; of one that ran long ago, and
                                     once only, it is made again and then kept; so is one that was
                                     filled, the second time
    the same but for constants       from the second text on, or with parameters, the template: its
                                     rules have run, literals are filled in, and how the query runs
                                     is chosen; or the query that was prepared of it, whose star is
                                     filled
    the same text, writing rows      the parsed statement

Plans, templates and the catalog are right for one snapshot; a new one empties the cache. Plans are
a session's own; templates and the catalog are those of all sessions that read the snapshot.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from raydb import sql
from raydb.engine.plans.template_cache import TemplateCache, note, shared_templates

if TYPE_CHECKING:
    from collections.abc import Hashable

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.plans.prepared_plan import PreparedPlan
    from raydb.engine.table_functions.vector.prepared_search import OpenSearch
    from raydb.planner.catalog import CatalogInfo, Relations
    from raydb.sql import ast

# A dashboard has some dozens of texts, whose constants change.
MAX_PLANS = 1024
MAX_SEARCHES = 256
MAX_STATEMENTS = 256

# Plans of texts that have run once. Few of them run again, and each is up to some hundred objects:
# with 64 a new text takes 3 % longer, for their memory is in no cache when it is used again.
MAX_NEW_PLANS = 16

# Texts whose plans went before they came again.
MAX_DROPPED = 4096

# A longer text is a list of values.
LONGEST_TEXT = 20_000

# A plan with a fused job takes up to 24 bytes for each cell that it touches.
MAX_BYTES = 2**26


class PlanCache:
    """The plans and statements of a session, the least recently used ones dropped.

    templates: those of the expected snapshot.
    """

    def __init__(self) -> None:
        self.templates = TemplateCache()
        self._plans: OrderedDict[Hashable, tuple[PreparedPlan, int]] = OrderedDict()
        self._new_plans: OrderedDict[Hashable, None] = OrderedDict()
        self._dropped_plans: OrderedDict[int, None] = OrderedDict()  # by the hashes of their keys
        self._filled: OrderedDict[int, None] = OrderedDict()  # queries that left no plan, likewise
        self._searches: OrderedDict[Hashable, OpenSearch] = OrderedDict()
        self._statements: OrderedDict[str, ast.Statement] = OrderedDict()
        self._size_bytes = 0
        self._snapshot: Snapshot | None = None
        self._meaning: Hashable = None

    def expect(self, snapshot: Snapshot, meaning: Hashable) -> bool:
        """Forget what is of another snapshot; say whether this one is new.

        meaning: what tells how the session reads a text, beside the snapshot; None where no other
        one reads it so, and templates are its own.
        """
        is_new = self._snapshot is not snapshot
        if is_new or self._meaning != meaning:
            self._plans.clear()
            self._new_plans.clear()
            self._dropped_plans.clear()
            self._filled.clear()
            self._searches.clear()
            self._size_bytes = 0
            own = meaning is None
            self.templates = TemplateCache() if own else shared_templates(snapshot, meaning)
            # Last: after an interrupt before it, plans of the earlier one are dropped next time.
            self._snapshot, self._meaning = snapshot, meaning
        return is_new

    def catalog(self, snapshot: Snapshot) -> CatalogInfo:
        """Return what the binder and the planner see; that of the expected snapshot is kept."""
        if snapshot is not self._snapshot:
            return snapshot.describe()
        return self.templates.catalog(snapshot)

    def relations(self, snapshot: Snapshot) -> Relations:
        """Return which table or view a name means; that of the expected snapshot is kept."""
        if snapshot is self._snapshot:
            return self.templates.relations(snapshot)
        return snapshot.relations

    def familiarity(self, key: Hashable | None, text: str) -> str:
        """Say what there is of a text: 'repeated', 'new constants' or 'new'."""
        if key in self._plans:
            return "repeated"
        shape = sql.shape_of(text)
        fits = shape is not None and self.templates.fits(shape)
        return "new constants" if fits else "new"

    def plan(self, key: Hashable | None) -> PreparedPlan | None:
        """Return the plan of a key, whose text has then run twice."""
        found = self._plans.get(key)
        if found is None:
            return None
        self._plans.move_to_end(key)
        self._new_plans.pop(key, None)
        return found[0]

    def was_there(self, key: Hashable | None) -> bool:
        """Tell whether a plan of a key was left before; note that one is left now if not.

        One that takes microseconds is not worth its memory until it comes again, and is gone by
        then where as many others as are kept come between.
        """
        number = hash(key)
        if key is None or number in self._dropped_plans:
            return key is not None
        if number not in self._filled:
            note(self._filled, number, MAX_PLANS)
            return False
        del self._filled[number]
        note(self._dropped_plans, number, MAX_DROPPED)
        return True

    def keep_plan(self, key: Hashable, prepared: PreparedPlan) -> None:
        """Keep a plan that has run; of texts that have run once the last ones only."""
        size = prepared.size_bytes
        if not prepared.is_repeatable or size > MAX_BYTES:
            return
        known = self._plans.pop(key, None)
        if known is None and self._dropped_plans.pop(hash(key), self) is self:
            self._new_plans[key] = None
        self._plans[key] = prepared, size
        self._size_bytes += size - (0 if known is None else known[1])
        if len(self._new_plans) > MAX_NEW_PLANS:
            oldest, _ = self._new_plans.popitem(last=False)
            self._drop_plan(oldest)
            note(self._dropped_plans, hash(oldest), MAX_DROPPED)
        while len(self._plans) > MAX_PLANS or self._size_bytes > MAX_BYTES:
            first = next(iter(self._plans))
            self._new_plans.pop(first, None)
            self._drop_plan(first)

    def _drop_plan(self, key: Hashable) -> None:
        _, size = self._plans.pop(key)
        self._size_bytes -= size

    def search(self, key: Hashable) -> OpenSearch | None:
        """Return the search of a text with any vector."""
        return self._searches.get(key)

    def keep_search(self, key: Hashable, search: OpenSearch) -> None:
        """Keep the search of a text with any vector."""
        self._searches[key] = search
        if len(self._searches) > MAX_SEARCHES:
            self._searches.popitem(last=False)

    def statement(self, text: str) -> ast.Statement | None:
        """Return the statement of a text."""
        return self._statements.get(text)

    def keep_statement(self, text: str, statement: ast.Statement) -> None:
        """Keep the one statement of a text."""
        if len(text) > LONGEST_TEXT:
            return
        self._statements[text] = statement
        if len(self._statements) > MAX_STATEMENTS:
            self._statements.popitem(last=False)
