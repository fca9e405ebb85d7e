"""A BVH beside tables that change: what it still says, what it lacks, and when it is outdated.

    INSERT into any table         the BVH lacks rows of the fact table (its newer rows)
    DELETE from any table         some of its places are dead; no visible row points to the others
    UPDATE of the fact table      both
    UPDATE of a dimension         nothing, unless a column that the BVH encodes gets other values

Anything else that gives a table a new version makes the BVH outdated, and it serves no query until
it is built anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.fused import build_bvh as building
from raydb.errors import DataError
from raydb.planner.catalog import NewerRows
from raydb.planner.expressions.nodes import attributes_of
from raydb.storage.tables.changes import Remove, Replace
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.catalog import BvhDefinition, BvhInfo
    from raydb.storage.tables.changes import Change
    from raydb.storage.tables.table import Table

# A merge takes 50 ns for each row of the table (6M): at a twentieth it takes 1 us for each row
# that was appended. 20,000 newer rows cost a query about 1 ms.
MERGED_SHARE = 0.05
MIN_MERGED = 20_000

# To build a BVH of so many rows takes 0.05 s: CHECKPOINT does it for a single changed row.
ALWAYS_MERGED = 2**20


@dataclass(frozen=True, eq=False, slots=True)
class StoredBvh:
    """A BVH, and which versions of the tables it is right for.

    versions: of the tables that it reads, moved on with the changes that leave it right.
    row_count: it holds the rows of the fact table below this number, without those that were
        masked when it was built.
    live: the fact table's mask that the index's dead places are those of.
    merge: the merge that is under way, if there is one.
    """

    info: BvhInfo
    versions: Mapping[str, int]
    row_count: int
    live: NDArray[np.bool_] | None
    merge: Merge | None = None

    @property
    def definition(self) -> BvhDefinition:
        """The BVH's definition."""
        return self.info.definition

    @property
    def dead_count(self) -> int:
        """The number of its deleted rows, as of `live`."""
        return 0 if self.info.index.dead is None else len(self.info.index.dead)


@dataclass(frozen=True, eq=False, slots=True)
class Merge:
    """A BVH that is being built beside the statements that change its tables.

    versions: of the tables for which it will be right, moved on like those of a BVH.
    token: its identity tells it from other merges. failure: why it came to nothing.
    """

    token: object
    versions: Mapping[str, int]
    failure: str | None = None


def built(
    definition: BvhDefinition, tables: Mapping[str, Table], context: StatementContext
) -> StoredBvh:
    """Build a BVH. Raises DataError when a measure or the cells do not fit 64 bits."""
    return stored(building.build_bvh(definition, tables, context), tables)


def stored(info: BvhInfo, tables: Mapping[str, Table]) -> StoredBvh:
    """Return a BVH that was built from these versions of its tables."""
    fact = tables[info.definition.table]
    versions = {name: tables[name].version for name in sorted(columns_read(info.definition))}
    return StoredBvh(info, versions, fact.row_count, fact.live)


def rebuilt(bvh: StoredBvh, tables: Mapping[str, Table], context: StatementContext) -> StoredBvh:
    """Build a BVH anew; it stays as it is where the rows do not fit, with the reason beside it.

    One that is outdated is then put aside: it serves no query, and EXPLAIN says why.
    """
    try:
        return built(bvh.definition, tables, context)
    except DataError as error:
        if bvh.info.obstacle is None and not is_outdated(bvh, tables):
            return replace(bvh, merge=Merge(object(), bvh.versions, str(error)))
        return stored(replace(bvh.info, obstacle=str(error)), tables)


def is_outdated(bvh: StoredBvh, tables: Mapping[str, Table]) -> bool:
    """Whether a BVH says of some row what is not so any more."""
    for name, version in bvh.versions.items():
        if name not in tables or tables[name].version != version:
            return True
    return False


def newer_count(bvh: StoredBvh, tables: Mapping[str, Table]) -> int:
    """Return how many visible rows of the fact table a BVH does not hold."""
    fact = tables[bvh.definition.table]
    if fact.live is None:
        return fact.row_count - bvh.row_count
    return int(np.count_nonzero(fact.live[bvh.row_count :]))


def needs_merge(bvh: StoredBvh, tables: Mapping[str, Table], share: float) -> bool:
    """Whether a BVH is to be built anew at a checkpoint.

    That is one that is outdated, or that lacks or has too many rows: more than a share of its own,
    or any where it is small. The others stay with their newer and dead rows beside them.
    """
    if is_outdated(bvh, tables):
        return True
    changed = newer_count(bvh, tables) + with_dead(bvh, tables).dead_count
    return changed > (share * bvh.row_count if bvh.row_count > ALWAYS_MERGED else 0)


def is_merge_due(bvh: StoredBvh, tables: Mapping[str, Table]) -> bool:
    """Whether it is time to build a BVH anew beside the statements to come."""
    if bvh.merge is not None and bvh.merge.failure is not None:
        return False
    if is_outdated(bvh, tables):
        return True
    changed = newer_count(bvh, tables) + bvh.dead_count
    return changed > max(MIN_MERGED, MERGED_SHARE * bvh.row_count)


def described(bvh: StoredBvh, tables: Mapping[str, Table]) -> BvhInfo:
    """Return a BVH as the planner sees it."""
    if bvh.info.obstacle is not None:
        return bvh.info
    if is_outdated(bvh, tables):
        return replace(bvh.info, obstacle="rows that it encodes were changed since it was built")
    if bvh.live is not tables[bvh.definition.table].live:
        return replace(bvh.info, obstacle="rows were deleted since it was last used")
    count = newer_count(bvh, tables)
    return replace(bvh.info, newer=NewerRows(bvh.row_count, count)) if count else bvh.info


def with_dead(bvh: StoredBvh, tables: Mapping[str, Table]) -> StoredBvh:
    """Return a BVH that knows which of its places are dead; itself where it does already."""
    live = tables[bvh.definition.table].live
    if live is bvh.live or live is None or is_outdated(bvh, tables):
        return bvh
    held = live[: bvh.row_count]
    known = bvh.live
    if known is None:
        same = bool(held.all())
    else:
        same = len(known) >= len(held) and np.array_equal(known[: len(held)], held)
    if same:
        return replace(bvh, live=live)
    index = bvh.info.index
    dead = np.flatnonzero(~held[index.row_numbers()])
    index = replace(index, dead=dead if len(dead) else None)
    return replace(bvh, info=replace(bvh.info, index=index), live=live)


def after_change(
    bvh: StoredBvh, change: Change, before: Mapping[str, Table], changed: Mapping[str, Table]
) -> StoredBvh:
    """Return a BVH after a change of rows; `changed` are the tables that the change made different.

    Of a merge that is under way the same is true as of the BVH.
    """
    kept = [name for name in changed if name in bvh.versions]
    if isinstance(change, Replace) and _encodes_other_values(bvh.definition, change, before):
        kept.remove(change.table)
    if isinstance(change, Replace | Remove):
        # Foreign keys may have replaced rows that the change does not name.
        read = columns_read(bvh.definition)
        keys = before[change.table].definition.foreign_keys
        follows_itself = any(key.table == change.table and key.on_update for key in keys)
        is_whole = isinstance(change, Replace) and not follows_itself
        kept = [
            name
            for name in kept
            if (is_whole and name == change.table)
            or not read.get(name)
            or changed[name].row_count == before[name].row_count
        ]

    def moved(versions: Mapping[str, int]) -> Mapping[str, int]:
        still = {n: changed[n].version for n in kept if versions[n] == before[n].version}
        return {**versions, **still}

    if not kept or bvh.info.obstacle is not None:
        return bvh
    merge = bvh.merge
    if merge is not None:
        merge = replace(merge, versions=moved(merge.versions))
    return replace(bvh, versions=moved(bvh.versions), merge=merge)


def _encodes_other_values(
    definition: BvhDefinition, change: Replace, tables: Mapping[str, Table]
) -> bool:
    """Whether an UPDATE of a dimension changes what a BVH says of rows that point there."""
    table = tables[change.table]
    numbers = pa.array(change.row_numbers)
    return any(
        not table.rows.column(name).take(numbers).equals(change.rows.column(name))
        for name in sorted(columns_read(definition).get(change.table, ()))
    )


def columns_read(definition: BvhDefinition) -> dict[str, set[str]]:
    """Return the tables of a BVH with the columns that rows pointing there get values from.

    The fact table is among them; its own rows are not pointed to, unless they are by themselves.
    """
    read: dict[str, set[str]] = {definition.table: set()}
    attributes = {*definition.scan, *definition.group_by}
    for expression in definition.aggregate:
        attributes |= attributes_of(expression)
    for attribute in attributes:
        for place, key in enumerate(attribute.path):
            columns = read.setdefault(key.table, set())
            following = attribute.path[place + 1 : place + 2]
            columns |= {name for each in following for name in each.columns}
        if attribute.path:
            read[attribute.path[-1].table].add(attribute.name)
    return read
