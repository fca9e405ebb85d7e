"""advise_keys(): the keys that the joins of a workload ask for, hold, and are not declared.

A join by a declared foreign key is a look-up, which a fused job does and a BVH encodes; one by
columns that happen to be keys is not, for rows may come that break them. So each is tried as ALTER
TABLE would add it, and what holds is proposed.
"""

from __future__ import annotations

from dataclasses import astuple, field
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from raydb.engine.table_functions.advice.workload import WORKLOAD, plans
from raydb.errors import IntegrityError, NotSupportedError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.keywords import quoted
from raydb.planner.catalog import without_schema
from raydb.planner.expressions.nodes import Column, conjuncts
from raydb.planner.plan.common_tables import queries_in
from raydb.planner.plan.nodes import Aggregate, CommonTable, Project, Scan, Star
from raydb.planner.plan.table_function import OpenedFunction
from raydb.planner.stars.reach import column_pairs
from raydb.storage.tables.alter import redefine
from raydb.storage.tables.table import ForeignKey, UniqueKey
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from raydb.engine.context.statement_context import StatementContext
    from raydb.errors import Error
    from raydb.planner.catalog import Relations
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.storage.tables.table import Table

    # A scan by the number of its first column, behind that of a common table that it is in.
    Scanned = tuple[int, ...]
    # The scan, the table and the column.
    Origin = tuple[Scanned, str, str]

_SCHEMA = pa.schema(
    {
        "table_name": pa.string(),
        "columns": pa.list_(pa.string()),
        "referred_table": pa.string(),
        "referred_columns": pa.list_(pa.string()),
        "statement": pa.string(),
        "queries": pa.list_(pa.int32()),
        "reason": pa.string(),
    }
)

# What ALTER TABLE says of a key that does not hold, or that is none.
_REFUSED = (IntegrityError, NotSupportedError, ProgrammingError)


@dataclass(frozen=True, slots=True)
class Join:
    """Two tables that a query joins by columns that are equal: pairs of one of each."""

    left: str
    right: str
    pairs: tuple[tuple[str, str], ...]

    def turned(self) -> Join:
        """Return the same join from the other side."""
        return Join(self.right, self.left, tuple([(right, left) for left, right in self.pairs]))


@dataclass(frozen=True, slots=True)
class Proposal:
    """A key to declare, or one that does not hold.

    referred, references: None for a key that tells the table's own rows apart.
    """

    kind: Literal["PRIMARY KEY", "UNIQUE", "FOREIGN KEY"]
    table: str
    columns: tuple[str, ...]
    holds: bool
    reason: str = field(compare=False)
    referred: str | None = None
    references: tuple[str, ...] | None = None


class AdviseKeys(OpenedFunction):
    """advise_keys(workload): the keys to declare for the joins of a workload.

    One row for each key, in the order in which they can be added, then one for each join that no
    key serves. workload: the text of its queries, or the path of a file of them. Raises the error
    of a statement that is wrong, with its number.
    """

    name = "advise_keys"
    arguments = (WORKLOAD,)

    def open(self, call: FunctionCall, context: StatementContext) -> pa.Table:
        snapshot = context.snapshot
        asked: dict[Join, list[int]] = {}
        for number, plan in plans(call.value(WORKLOAD.name), self.name, context):
            for join in set() if isinstance(plan, str) else joins_in(plan):
                if join.left in snapshot.tables and join.right in snapshot.tables:
                    asked.setdefault(join, []).append(number)
        trial = _Trial(snapshot.tables)
        found: dict[Proposal, set[int]] = {}
        for join in sorted(asked, key=lambda each: (asked[each], astuple(each))):
            for proposal in trial.propose(join):
                found.setdefault(proposal, set()).update(asked[join])
        order = sorted(found, key=lambda each: (not each.holds, each.kind == "FOREIGN KEY"))
        names = context.queries.cache.relations(context.all_databases)
        return pa.Table.from_pylist([_row(p, sorted(found[p]), names) for p in order], _SCHEMA)


def _row(proposal: Proposal, queries: list[int], names: Relations) -> dict[str, object]:
    return {
        "table_name": proposal.table,
        "columns": proposal.columns,
        "referred_table": proposal.referred,
        "referred_columns": proposal.references,
        "statement": _statement(proposal, names) if proposal.holds else None,
        "queries": queries,
        "reason": proposal.reason,
    }


def _statement(proposal: Proposal, names: Relations) -> str:
    """Return the statement that declares a key, which reads the same in the session alone.

    Where the tables are not all in the current schema, their schemas are written.
    """
    referred = proposal.referred
    tables = (proposal.table,) if referred is None else (proposal.table, referred)
    places = {names.place_of(table) for table in tables}

    def written(table: str) -> str:
        database, schema = names.place_of(table)
        parts = [without_schema(table, schema)]
        if places != {names.current}:
            parts.insert(0, schema)
        if database != names.current[0]:
            parts.insert(0, database)
        return ".".join(map(quoted, parts))

    text = (
        f"ALTER TABLE {written(proposal.table)} ADD {proposal.kind} ({_listed(proposal.columns)})"
    )
    if referred is not None:
        text += f" REFERENCES {written(referred)} ({_listed(proposal.references or ())})"
    return f"{text};"


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(quoted, columns))


def _is_of_itself(join: Join) -> bool:
    """Whether a table is joined with itself by the same columns, as two of a CTE's are."""
    return join.left == join.right and all(left == right for left, right in join.pairs)


class _Trial:
    """Tables as they are once what was proposed is declared, but for foreign keys."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = dict(tables)
        self._proposed: dict[tuple[str, tuple[str, ...]], Proposal] = {}

    def propose(self, join: Join) -> Sequence[Proposal]:
        """Return the keys that a join needs, none where one is declared, or why it has none."""
        sides = sorted((join, join.turned()), key=self._rank)
        if _is_of_itself(join) or any(map(self._is_declared, sides)):
            return ()
        tried = []
        for side in sides:
            proposals = self._refer(side)
            if proposals[-1].holds:
                return proposals
            tried += proposals
        return tried[:1]

    def _rank(self, join: Join) -> tuple[bool, int]:
        """What the side has the least of that is to refer to the other: the other is the smaller.

        One that has a declared key comes first.
        """
        parent = self._tables[join.right]
        return self._declared_key(join) is None, parent.live_count

    def _is_declared(self, join: Join) -> bool:
        return any(
            key.table == join.right
            and set(zip(key.columns, key.references, strict=True)) <= set(join.pairs)
            for key in self._tables[join.left].definition.foreign_keys
        )

    def _declared_key(self, join: Join) -> tuple[str, ...] | None:
        columns = {column for _, column in join.pairs}
        keys = self._tables[join.right].definition.declared_keys
        return next((key.columns for key in keys if columns.issuperset(key.columns)), None)

    def _refer(self, join: Join) -> list[Proposal]:
        """Return the keys by which the left table refers to the right one, the last its own."""
        references = self._declared_key(join)
        parent, made = self._tables[join.right], None
        own, others = zip(*join.pairs, strict=True)
        refused = Proposal("FOREIGN KEY", join.left, own, False, "", join.right, others)
        try:
            if references is None:
                parent, made = self._new_key(parent, set(others))
                references = made.columns
            else:
                made = self._proposed.get((join.right, references))
            # A column that equals several has one of them as its partner.
            partner = {right: left for left, right in reversed(join.pairs)}
            columns = tuple(partner[column] for column in references)
            key = ForeignKey(columns, join.right, references)
            tables = {**self._tables, join.right: parent}
            child = tables[join.left]
            definition = child.definition
            foreign_keys = (*definition.foreign_keys, key)
            after = redefine(child, replace(definition, foreign_keys=foreign_keys), tables)
        except _REFUSED as error:
            return [replace(refused, reason=str(error))]
        self._tables[join.right] = parent
        count = int(np.count_nonzero(after.foreign_rows[key] >= 0))
        reason = f"{count} of {child.live_count} rows have a partner"
        reason += ", the others no value" if count < child.live_count else ""
        found = Proposal("FOREIGN KEY", join.left, columns, True, reason, join.right, references)
        if made is None:
            return [found]
        self._proposed[join.right, references] = made
        return [made, found]

    def _new_key(self, table: Table, columns: Collection[str]) -> tuple[Table, Proposal]:
        """Return a table with a key of some columns, as few as tell its rows apart.

        Raises the error of the last key that was tried.
        """
        definition = table.definition
        names = [name for name in definition.schema.names if name in columns]
        failure: Error | None = None
        for size in range(1, len(names) + 1):
            for some in combinations(names, size):
                check_interrupt()
                key = UniqueKey(some)
                is_primary = definition.primary_key is None and not any(map(table.null_count, some))
                changed = (
                    replace(definition, primary_key=key)
                    if is_primary
                    else replace(definition, unique_keys=(*definition.unique_keys, key))
                )
                try:
                    after = redefine(table, changed, self._tables)
                except _REFUSED as error:
                    failure = error
                    continue
                kind: Literal["PRIMARY KEY", "UNIQUE"] = "PRIMARY KEY" if is_primary else "UNIQUE"
                reason = f"{table.live_count} rows, none of them twice"
                return after, Proposal(kind, table.name, some, True, reason)
        assert failure is not None
        raise failure


# -- the joins of a query


def joins_in(plan: Plan) -> set[Join]:
    """Return which tables a query joins by which columns, in whatever form it does so."""
    found: set[Join] = set()
    for part in (*queries_in(plan).values(), plan):
        origins: dict[int, Origin] = {}
        for node in _nodes(part):
            _note_origins(node, origins)
            found |= _joins_of(node, origins)
    return found


def _nodes(plan: Plan) -> Iterator[Plan]:
    """Yield the nodes of a plan, each behind its sources, with those of subqueries of stars."""
    for source in plan.sources:
        yield from _nodes(source)
    if isinstance(plan, Aggregate) and isinstance(plan.star, Star):
        for given in plan.star.given:
            yield from _nodes(given.plan)
    yield plan


def _note_origins(node: Plan, origins: dict[int, Origin]) -> None:
    """Note where the columns come from that a node gives as they stand."""
    match node:
        case Scan(table=table, columns=columns):
            origins.update({c.number: ((columns[0].number,), table, c.name) for c in columns})
        case CommonTable(query=query, columns=columns):
            inner: dict[int, Origin] = {}
            for each in _nodes(query):
                _note_origins(each, inner)
            for column, own in zip(columns, query.columns, strict=True):
                if own.number in inner:
                    scan, table, name = inner[own.number]
                    origins[column.number] = ((columns[0].number, *scan), table, name)
        case Project(items=items) | Aggregate(keys=items):
            for column, expression in items:
                if isinstance(expression, Column) and expression.number in origins:
                    origins[column.number] = origins[expression.number]
        case _:
            pass


def _joins_of(node: Plan, origins: Mapping[int, Origin]) -> set[Join]:
    """Return the joins that the conditions of one node say."""
    pairs: dict[tuple[Scanned, Scanned], list[tuple[str, str]]] = {}
    tables: dict[Scanned, str] = {}
    for numbers in column_pairs(part for whole in node.expressions for part in conjuncts(whole)):
        sides = sorted(origins[number] for number in numbers if number in origins)
        if len(sides) < 2 or sides[0][0] == sides[1][0]:
            continue
        (first, one, left), (second, other, right) = sides
        tables |= {first: one, second: other}
        pairs.setdefault((first, second), []).append((left, right))
    return {
        Join(tables[first], tables[second], tuple(sorted(set(each))))
        for (first, second), each in pairs.items()
    }
