"""What foreign keys reach from a fact table: the joins of a star as look-ups.

f JOIN d ON f.dk = d.k             d.x is the attribute (dk -> d).x; f.dk is not NULL
f LEFT JOIN d ON f.dk = d.k        the same, and NULL where f.dk is
... AND d.y > 1                    CASE WHEN d.y > 1 THEN d.x END
f.dk IN (SELECT k FROM d ...)      a predicate over attributes behind f.dk, as is EXISTS
f.dk NOT IN (SELECT k FROM d ...)  its opposite, which is true where f.dk is NULL
f.x IN (SELECT y FROM a ...)       a comparison with the values that the subquery turns out to have

A key that has NULLs has no partner there, so an inner join also asks that it is none, unless a
condition on what lies behind it does so already.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from raydb.planner.expressions.nodes import (
    Attribute,
    Call,
    Column,
    Expression,
    columns_of,
    conjunction,
    substitute,
)
from raydb.planner.expressions.nodes import Literal as Constant
from raydb.planner.plan.nodes import (
    Given,
    NoStar,
    Scan,
)
from raydb.planner.plan.nulls import rejects_null
from raydb.planner.stars.parts import KEEPS_ROWS, SEMI_JOIN
from raydb.storage.integers import holds
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.stars.parts import Parts, Side
    from raydb.storage.tables.table import ForeignKey

# The numbers of two columns that are equal.
_Pair: TypeAlias = frozenset[int]

# Of a catalog what so many joins reach is kept.
_MOST_JOINED = 256


@dataclass(frozen=True, slots=True)
class Reached:
    """A star's fact table, what its predicates are, and the expressions that columns stand for.

    given: the subqueries whose values predicates read.
    """

    fact: Scan
    tables: tuple[str, ...]
    predicates: tuple[Expression, ...]
    columns: Mapping[Column, Expression]
    given: tuple[Given, ...]


def reach(
    parts: Parts, asked: frozenset[Column], measured: frozenset[Column], catalog: CatalogInfo
) -> Reached | NoStar:
    """Find the scan from which foreign keys reach all others, and how columns are seen from it.

    asked: the columns that keys are made of; measured: those of aggregates.
    """
    if not parts.scans:
        return NoStar("it reads no table")
    pairs = column_pairs(parts.conditions)
    # Scans of a table that statements number alike are one object, of which no other is made while
    # it is kept here.
    key = (*map(id, parts.scans), frozenset(pairs))
    known: tuple[Joined | NoStar, list[Scan]] | None = catalog.joined.get(key)
    if known is None:
        if len(catalog.joined) >= _MOST_JOINED:
            catalog.joined.clear()
        known = _joined(parts.scans, frozenset(pairs), catalog), parts.scans
        catalog.joined[key] = known
    found, _ = known
    if isinstance(found, NoStar):
        return found
    used = {pairs[each] for each in found.used}
    rest = [each for number, each in enumerate(parts.conditions) if number not in used]
    return _Seen(found, parts, catalog).reached(rest, asked, measured)


@dataclass(frozen=True, eq=False, slots=True)
class Way:
    """The foreign keys from the fact table to a scan; `parent` is the scan that has the last.

    nulls: the columns of that key which have NULLs.
    """

    path: tuple[ForeignKey, ...]
    parent: Scan | None
    nulls: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Joined:
    """The fact table of scans that are joined, and the foreign keys to all others.

    ways: by the scan's id. used: the equalities that are keys. owners: the scans by the numbers of
    their columns. attributes: what columns are, by their numbers, as far as it was asked.
    """

    fact: Scan
    ways: dict[int, Way]
    used: frozenset[_Pair]
    owners: dict[int, Scan]
    attributes: dict[int, Attribute] = field(default_factory=dict)


def _joined(
    scans: Sequence[Scan], pairs: frozenset[_Pair], catalog: CatalogInfo
) -> Joined | NoStar:
    """Return scans as joined by foreign keys from the largest that reaches all others."""
    failure = None
    for fact in sorted(scans, key=lambda scan: -catalog.tables[scan.table].row_count):
        ways = {id(fact): Way((), None)}
        used = _follow(ways, [fact], scans, pairs, catalog)
        if len(ways) == len(scans):
            return Joined(fact, ways, frozenset(used), _owners(scans))
        missing = next(scan for scan in scans if id(scan) not in ways)
        failure = failure or NoStar(
            f"'{missing.table}' is not joined to '{fact.table}' on a declared foreign key"
        )
    assert failure is not None
    return failure


class _Seen:
    """The scans of a star as seen from its fact table, side after side.

    ways, owners, attributes: see `Joined`. presence: for a scan of a left join what is true where
    it has a row, besides that its key is not NULL; there: with that, and with what its parent asks.
    columns: those that are not as in the table.
    """

    def __init__(self, found: Joined, parts: Parts, catalog: CatalogInfo) -> None:
        self.fact = found.fact
        self.sides = parts.sides
        self.given = list(parts.given)
        self.ways, self.owners, self.attributes = found.ways, found.owners, found.attributes
        if parts.sides:
            self.ways, self.owners, self.attributes = {**self.ways}, {**self.owners}, {}
        self.catalog = catalog
        # Those that the query has joined so far, and those of subqueries, which it cannot name.
        self.joined = list(parts.scans)
        self.inside: list[Scan] = []
        self.presence: dict[int, Expression] = {}
        self.there: dict[int, Expression] = {}
        self.columns: dict[Column, Expression] = {}

    def reached(
        self, conditions: list[Expression], asked: frozenset[Column], measured: frozenset[Column]
    ) -> Reached | NoStar:
        """Return the star's parts, where every side is reached too."""
        required = list(self.joined)
        for side in (self._reachable(side, asked | measured) for side in self.sides):
            matched = self._add_side(side)
            if matched is None:
                return KEEPS_ROWS if side.kind == "left" else SEMI_JOIN
            partner = _is_matched([*matched, *self._guards(side.scans)])
            match side.kind:
                case "left":
                    self._hide_unmatched(side, matched)
                case "semi":
                    conditions += matched
                    required += side.scans
                case "anti":
                    conditions.append(_negated(partner))
                case "mark":
                    assert side.mark is not None
                    self.columns[side.mark] = self._resolved(partner)
        conditions += self._needed_guards(required, conditions, asked)
        read = asked.union(measured, columns_of(*conditions))
        tables = (scan.table for scan in self._scans() if scan is not self.fact)
        return Reached(
            self.fact,
            (self.fact.table, *tables),
            tuple(conditions),
            {**self._attributes(read), **self.columns},
            tuple(self.given),
        )

    def _scans(self) -> list[Scan]:
        return [*self.joined, *self.inside]

    def _reachable(self, side: Side, shown: frozenset[Column]) -> Side:
        """Return a side, as a comparison with a subquery's values where keys lead to no scans.

        shown: columns that are no predicates, for which these values would come too late.
        """
        ways = dict(self.ways)
        scans = [*self.joined, *side.scans]
        _follow(ways, self.joined, scans, column_pairs(side.conditions), self.catalog)
        is_known = bool(side.scans) and all(id(scan) in ways for scan in side.scans)
        if is_known or side.members is None or side.mark in shown:
            return side
        given, is_member = side.members
        self.given.append(given)
        return replace(side, scans=(), conditions=(is_member,))

    def _add_side(self, side: Side) -> list[Expression] | None:
        """Follow keys to a side's scans; return what else makes a row a partner, None if not so."""
        scans = [*self.joined, *side.scans]
        pairs = column_pairs(side.conditions)
        used = {pairs[each] for each in _follow(self.ways, self.joined, scans, pairs, self.catalog)}
        if not side.conditions or any(id(scan) not in self.ways for scan in side.scans):
            return None
        (self.joined if side.kind == "left" else self.inside).extend(side.scans)
        self.owners.update(_owners(side.scans))
        rest = [each for number, each in enumerate(side.conditions) if number not in used]
        parents = {id(self.ways[id(scan)].parent) for scan in side.scans}
        # A row that is not there has no key to follow, though the path leads through its table; of
        # a left join columns alone are asked, which are NULL where a key of one column is.
        held = self.presence if side.kind == "left" else self.there
        return rest + [here for scan, here in held.items() if scan in parents]

    def _hide_unmatched(self, side: Side, matched: list[Expression]) -> None:
        """Make the columns of a left join's side NULL in rows that have no partner."""
        own = {id(scan) for scan in side.scans}
        guarded = []
        for scan in side.scans:
            way = self.ways[id(scan)]
            # Where the one column of a key is NULL, all that is behind it is NULL anyway; one of
            # several stands for the column that it references.
            if id(way.parent) in own or len(way.path[-1].columns) > 1:
                guarded.append(scan)
        parents = {id(self.ways[id(scan)].parent) for scan in side.scans}
        there = [*matched, *self._guards(side.scans)]
        there += [here for scan, here in self.there.items() if scan in parents]
        if there:
            self.there |= dict.fromkeys(own, self._resolved(conjunction(there)))
        presence = [*matched, *self._guards(guarded)]
        if not presence:
            return
        here = self._resolved(conjunction(presence))
        for scan in side.scans:
            self.presence[id(scan)] = here
        columns = frozenset(column for scan in side.scans for column in scan.columns)
        for column, value in self._attributes(columns).items():
            nothing = Constant(None, column.type)
            self.columns[column] = Call("case", (here, value, nothing), column.type)

    def _resolved(self, expression: Expression) -> Expression:
        """Return an expression over attributes."""
        known = self._attributes(columns_of(expression))
        return substitute(expression, {**known, **self.columns})

    def _attributes(self, read: Iterable[Column]) -> dict[Column, Expression]:
        found: dict[Column, Expression] = {}
        for column in read:
            value = self.attributes.get(column.number)
            if value is None:
                owner = self.owners.get(column.number)
                if owner is None:  # what a subquery gives
                    continue
                path = self.ways[id(owner)].path
                value = own_attribute(Attribute(path, column.name, column.type))
                self.attributes[column.number] = value
            found[column] = value
        return found

    def _guards(self, scans: Iterable[Scan]) -> list[Expression]:
        """Return NOT (fk IS NULL) for the keys to some scans that have NULLs."""
        guards: dict[Expression, None] = {}
        for scan in scans:
            way = self.ways[id(scan)]
            if way.nulls:
                assert way.parent is not None
                for column in way.parent.columns:
                    if column.name in way.nulls:
                        guards[_is_not_null(column)] = None
        return list(guards)

    def _needed_guards(
        self, scans: Sequence[Scan], conditions: Sequence[Expression], asked: frozenset[Column]
    ) -> list[Expression]:
        """Return what keeps rows without partners out, where no condition does so already.

        That an attribute which has no NULL is NULL says the same as that the key is; so where the
        query has one that it filters or groups by, that one is asked, which may be encoded.
        """
        guards: list[Expression] = []
        guarded = [scan for scan in scans if self.ways[id(scan)].nulls]
        for scan in sorted(guarded, key=lambda scan: -len(self.ways[id(scan)].path)):
            own = self._guards([scan])
            behind = self._null_behind(self.ways[id(scan)], scans)
            if not any(rejects_null(each, behind) for each in (*conditions, *guards)):
                nulls = self.catalog.tables[scan.table].null_counts
                read = asked.union(columns_of(*conditions))
                full = [c for c in scan.columns if c in read and c in behind and not nulls[c.name]]
                guards += [_is_not_null(full[0])] if full else own
        return list(dict.fromkeys(guards))

    def _null_behind(self, way: Way, scans: Iterable[Scan]) -> frozenset[Column]:
        """Return the columns that are NULL where the last key of a way has a NULL."""
        columns: set[Column] = set()
        for scan in scans:
            path = self.ways[id(scan)].path
            if path[: len(way.path)] == way.path:
                # A referenced key is read from the foreign key, of which a part may be NULL.
                kept = path[-1].references if len(path[-1].columns) > 1 else ()
                columns.update(column for column in scan.columns if column.name not in kept)
        if way.parent is not None and len(way.path[-1].columns) == 1:
            columns.update(c for c in way.parent.columns if c.name in way.path[-1].columns)
        return frozenset(columns)


def _is_not_null(column: Column) -> Expression:
    return _negated(Call("is_null", (column,), pa.bool_()))


def _negated(predicate: Expression) -> Expression:
    return Call("not", (predicate,), pa.bool_())


def _is_matched(conditions: Sequence[Expression]) -> Expression:
    """Return whether all conditions are true; it is never NULL."""
    if not conditions:
        return Constant(True, pa.bool_())
    false = Constant(False, pa.bool_())
    return Call("coalesce", (conjunction(conditions), false), pa.bool_())


def _follow(
    ways: dict[int, Way],
    known: Sequence[Scan],
    scans: Sequence[Scan],
    pairs: Collection[_Pair],
    catalog: CatalogInfo,
) -> set[_Pair]:
    """Follow foreign keys from known scans, add the ways to others; return the equalities used."""
    used: set[_Pair] = set()
    if not pairs:
        return used
    frontier = list(known)
    while frontier:
        scan = frontier.pop()
        table = catalog.tables[scan.table]
        for key in table.definition.foreign_keys:
            for other in scans:
                if other.table != key.table or id(other) in ways:
                    continue
                needed = {
                    frozenset((_column(scan, a).number, _column(other, b).number))
                    for a, b in zip(key.columns, key.references, strict=True)
                }
                if all(each in pairs for each in needed):
                    nulls = tuple(name for name in key.columns if table.null_counts[name])
                    ways[id(other)] = Way((*ways[id(scan)].path, key), scan, nulls)
                    used |= needed
                    frontier.append(other)
    return used


def _column(scan: Scan, name: str) -> Column:
    for column in scan.columns:
        if column.name == name:
            return column
    raise AssertionError(name)


def _owners(scans: Iterable[Scan]) -> dict[int, Scan]:
    """Return the scans by the numbers of their columns."""
    return {column.number: scan for scan in scans for column in scan.columns}


def column_pairs(conditions: Iterable[Expression]) -> dict[_Pair, int]:
    """Return the places of conditions a = b over two columns, casts between integers aside.

    By the numbers of both columns.
    """
    pairs: dict[_Pair, int] = {}
    for place, condition in enumerate(conditions):
        if type(condition) is Call and condition.function == "equal":
            left, right = condition.arguments
            if type(left) is Constant or type(right) is Constant:  # most of the others
                continue
            left, right = _without_integer_cast(left), _without_integer_cast(right)
            if isinstance(left, Column) and isinstance(right, Column):
                pairs[frozenset((left.number, right.number))] = place
    return pairs


def own_attribute(attribute: Attribute) -> Attribute:
    """Return the attribute that an attribute is; all that are equal are one object.

    A referenced key is the foreign key itself: (lo_orderdate -> date).d_datekey is lo_orderdate.
    """
    while attribute.path:
        *path, last = attribute.path
        if attribute.name not in last.references:
            break
        column = last.columns[last.references.index(attribute.name)]
        attribute = Attribute(tuple(path), column, attribute.type)
    return _kept(attribute)


@lru_cache(maxsize=4096)
def _kept(attribute: Attribute) -> Attribute:
    """Return the one that is equal: those of queries are those of BVHs, and so equal at a glance.

    Each query asks some dozen times whether a BVH has an attribute.
    """
    return attribute


def _without_integer_cast(expression: Expression) -> Expression:
    if isinstance(expression, Call) and expression.function == "cast":
        (inner,), kind = expression.arguments, expression.type
        if (
            isinstance(inner, Column)
            and pa.types.is_integer(kind)
            and pa.types.is_integer(inner.type)
            and holds(kind, inner.type)
        ):
            return inner
    return expression
