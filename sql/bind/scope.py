"""Scopes: the names that an expression can see, and the columns that they stand for."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Literal

from raydb.errors import ProgrammingError, did_you_mean
from raydb.names import Names, Qualified, Unquoted, index_names, is_same, known_name, needs_quotes
from raydb.planner.expressions.collations import collation_of
from raydb.planner.expressions.functions.nested import structs
from raydb.planner.expressions.nodes import Column
from raydb.planner.expressions.types import BIGINT
from raydb.planner.expressions.typing_rules import cast
from raydb.sql.parse.reader import ROW_ID
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raydb.planner.expressions.nodes import Expression


@dataclass(frozen=True)
class ScopeTable:
    """A table, view, derived table or common table expression under the name it has in FROM.

    `columns` holds the columns under the names they have here: `t(a, b)` gives them new ones.
    `written` is the name that the alias `name` replaces; `place` is where a table without an
    alias is. `row_id` is the number of the row, which a stored table has without a column for it.
    """

    name: str
    columns: tuple[tuple[str, Expression], ...]
    written: str
    place: tuple[str, str] = ("", "")
    row_id: Expression | None = None

    @cached_property
    def index(self) -> Names:
        """The names of the columns."""
        return index_names([name for name, _ in self.columns])


@dataclass(frozen=True, slots=True)
class Visible:
    """A name that works without a qualifier. `table` is None for a column merged by USING."""

    name: str
    expression: Expression
    table: str | None


@dataclass(frozen=True, eq=False)
class Scope:
    """What FROM makes visible: tables for `t.a`, and names for `a` in the order of `SELECT *`."""

    tables: tuple[ScopeTable, ...] = ()
    visible: tuple[Visible, ...] = ()

    @cached_property
    def index(self) -> Names:
        """The names that work without a qualifier."""
        return index_names([each.name for each in self.visible])

    @cached_property
    def known(self) -> dict[str, Visible]:
        """What names stand for that one column has, in lower case, as far as they were asked."""
        return {}


@dataclass(frozen=True, slots=True)
class Outer:
    """What a query inside another sees of the row outside.

    `columns` collects, for each expression over that row that the query reads, the column that
    stands for it inside; `beyond` is what is outside of the outer query. A subquery sees both, the
    nearer first. A LATERAL query sees the tables before it in FROM as a subquery would, but reads
    the row beyond directly; a derived table without that word looks beyond first, as it would in
    PostgreSQL, which does not let it see the tables before it.
    """

    kind: Literal["subquery", "lateral", "derived"]
    scope: Scope
    beyond: Outer | None
    numbers: Iterator[int]
    columns: dict[Expression, Column] = field(default_factory=dict)

    def find(self, name: str, table: str | None, *, hides_siblings: bool = False) -> Column | None:
        """Return the column for a name outside, or None if it is unknown there too.

        hides_siblings: whether a derived table gives the name a meaning of its own, that of a row,
        before the tables before it in FROM do.
        """
        if self.kind == "derived":
            found = self._find_beyond(name, table)
            if found is not None or hides_siblings:
                return found
            return self._stand_in(find(self.scope, name, table))
        column = self._stand_in(find(self.scope, name, table))
        if column is not None:
            return column
        column = self._find_beyond(name, table)
        return self._stand_in(column) if self.kind == "subquery" else column

    def outside_columns(self) -> frozenset[Column]:
        """Return the columns that the query inside reads without a FROM that gives them."""
        own = frozenset(self.columns.values())
        if self.kind == "subquery" or self.beyond is None:
            return own
        return own | self.beyond.outside_columns()

    def _find_beyond(self, name: str, table: str | None) -> Column | None:
        return None if self.beyond is None else self.beyond.find(name, table)

    def _stand_in(self, expression: Expression | None) -> Column | None:
        if expression is None:
            return None
        if expression not in self.columns:
            name = expression.name if isinstance(expression, Column) else "outer"
            collation = collation_of(expression)
            self.columns[expression] = Column(next(self.numbers), name, expression.type, collation)
        return self.columns[expression]


def table_scope(
    table: str,
    columns: Sequence[Column],
    names: Sequence[str] = (),
    written: str = "",
    place: tuple[str, str] = ("", ""),
    row_number: Column | None = None,
) -> Scope:
    """Return the scope of one table; see `named_scope`.

    place: the database and the schema of a table without an alias, for names such as
    `shop.sale.amount`. row_number: the column with the numbers of a stored table's rows.
    """
    named = [(column.name, column) for column in columns]
    return named_scope(table, named, names, written, place, _row_id(row_number))


def named_scope(
    table: str,
    columns: Sequence[tuple[str, Expression]],
    names: Sequence[str] = (),
    written: str = "",
    place: tuple[str, str] = ("", ""),
    row_id: Expression | None = None,
) -> Scope:
    """Return the scope of one table with named columns; `names` replace the first of their names.

    A table without a name ('') can't be used as a qualifier. Raises ProgrammingError for more
    names than columns.
    """
    if len(names) > len(columns):
        raise ProgrammingError(
            f"'{table}' has {len(columns)} columns, but its alias names {len(names)}"
        )
    named = tuple(columns)
    if names:
        named = (*zip(names, (column for _, column in named), strict=False), *named[len(names) :])
    return Scope(
        (ScopeTable(table, named, written, place, row_id),),
        tuple([Visible(name, column, table) for name, column in named]),
    )


def _row_id(row_number: Column | None) -> Expression | None:
    """Return the number of a row as `rowid` gives it."""
    return None if row_number is None else cast(row_number, BIGINT)


@lru_cache(maxsize=64)
def join_scopes(*scopes: Scope) -> Scope:
    """Return the scope of a join; a name may be used twice for tables of two databases only."""
    tables = tuple([table for scope in scopes for table in scope.tables])
    visible = tuple(chain.from_iterable([scope.visible for scope in scopes]))
    if len({table.name.lower() for table in tables}) < len(tables):
        for place in range(len(scopes) - 1, 0, -1):
            _refuse_same_names(scopes[place - 1], scopes[place:])
    return Scope(tables, visible)


def _refuse_same_names(left: Scope, others: Sequence[Scope]) -> None:
    for table in (table for other in others for table in other.tables):
        for used in left.tables:
            if not table.name or not is_same(used.name, table.name):
                continue
            if not (used.place[0] and table.place[0]) or used.place == table.place:
                raise ProgrammingError(
                    f"table name '{used.name}' is used twice in FROM; give one of them an alias"
                )


def merge_columns(scope: Scope, merged: Sequence[Visible], replaced: Sequence[Visible]) -> Scope:
    """Return the scope after USING: merged columns come first, without those that they replace."""
    gone = {id(each) for each in replaced}
    others = (each for each in scope.visible if id(each) not in gone)
    return Scope(scope.tables, (*merged, *others))


def find_visible(scope: Scope, name: str) -> Visible | None:
    """Return what an unqualified name stands for, or None; an ambiguous name is an error."""
    known = scope.known.get(name.lower())
    if known is not None:
        return known
    places = scope.index.places(name)
    if len(places) == 1:
        only = scope.visible[places[0]]
        if isinstance(name, Unquoted):  # in quotes it may be one of several
            scope.known[name.lower()] = only
        return only
    found = [scope.visible[place] for place in places]
    if not found and is_same(name, ROW_ID):
        rows = [(table.row_id, table.name) for table in scope.tables]
        found = [Visible(ROW_ID, row_id, table) for row_id, table in rows if row_id is not None]
    if len(found) < 2:
        return found[0] if found else None
    tables = list(dict.fromkeys(_quoted(each.table) for each in found))
    made = [each.name for each in found]
    if len(tables) == 1 and len(set(made)) > 1:
        raise needs_quotes(name, "column", made)
    where = f"it is in {' and in '.join(tables)}" if len(tables) > 1 else f"{tables[0]} has two"
    raise ProgrammingError(f"column '{name}' is ambiguous: {where}")


def find_name(scope: Scope, name: str) -> Expression | None:
    """Return the expression that an unqualified name stands for; see `find_visible`."""
    found = find_visible(scope, name)
    return None if found is None else found.expression


def _quoted(table: str | None) -> str:
    return f"'{table}'" if table else "an unnamed table"


def row_table(scope: Scope, name: str) -> ScopeTable | None:
    """Return the table of FROM whose row a name stands for; None for other names.

    Names of columns come first.
    """
    if scope.index.places(name):
        return None
    tables = [table for table in scope.tables if table.name and is_same(table.name, name)]
    return tables[0] if len(tables) == 1 else None


def whole_row(scope: Scope, name: str) -> Expression | None:
    """Return the row of the table that has a name in FROM, as a struct; None for other names.

    A function of one column gives values, not rows.
    """
    table = row_table(scope, name)
    if table is None:
        return None
    match table.columns:
        case [(column, value)] if column == table.written and table.row_id is None:
            return value
    return structs.struct_of_pairs(table.columns, f"a struct of '{name}'")


def find(scope: Scope, name: str, table: str | None) -> Expression | None:
    """Return what `name` or `table.name` stands for, or None if that name or table is unknown.

    Raises ProgrammingError for an ambiguous name, and for one that a known table does not have.
    """
    if table is None:
        return find_name(scope, name)
    known = _table(scope, table)
    return None if known is None else _resolve_in(known, name)


def made_name(scope: Scope, name: str, table: str | None) -> str | None:
    """Return the name of a column of FROM as it was made, None for one that is not in FROM."""
    if table is None:
        found = find_visible(scope, name)
        return None if found is None else found.name
    known = _table(scope, table)
    return None if known is None else known.index.find(name, "column")


def resolve(scope: Scope, name: str, table: str | None) -> Expression:
    """Return what `name` or `table.name` stands for.

    Raises ProgrammingError for an unknown or ambiguous name, with the nearest right spelling.
    """
    if table is not None:
        return _resolve_in(find_table(scope, table), name)
    return resolve_visible(scope, name).expression


def resolve_visible(scope: Scope, name: str) -> Visible:
    """Return what an unqualified name stands for; errors as in `resolve`."""
    found = find_visible(scope, name)
    if found is not None:
        return found
    known = [column.name for column in scope.visible]
    tables = [table.name for table in scope.tables if table.name]
    match tables:
        case []:
            where = ""
        case [only]:
            where = f" in '{only}'"
        case [*others, last]:
            where = f" in {', '.join(repr(each) for each in others)} or '{last}'"
    raise ProgrammingError(f"column '{name}' does not exist{where}{did_you_mean(name, known)}")


def find_table(scope: Scope, name: str) -> ScopeTable:
    """Return the table that has a name in FROM."""
    if (found := _table(scope, name)) is not None:
        return found
    alias = next((table.name for table in scope.tables if _hides(table, name)), "")
    if alias:
        raise ProgrammingError(f"table '{name}' is not in FROM; did you mean its alias '{alias}'?")
    if isinstance(name, Qualified):
        whole = ".".join((*reversed(name.place), name))
        raise ProgrammingError(f"table '{whole}' is not in FROM")
    known = [table.name for table in scope.tables if table.name]
    raise ProgrammingError(f"table '{name}' is not in FROM{did_you_mean(name, known)}")


def _hides(table: ScopeTable, name: str) -> bool:
    """Say whether a table has another name in FROM than one that is written before a column."""
    if isinstance(name, Qualified) and table.place[0]:
        return is_same(table.written, name) and _is_at(table, name.place)
    return is_same(table.written, name)


def _is_at(table: ScopeTable, place: Sequence[str]) -> bool:
    """Say whether a table is in a database or a schema, or in both, the schema first."""
    database, schema = table.place
    if len(place) == 2:
        return is_same(place[0], schema) and is_same(place[1], database)
    return any(is_same(part, place[0]) for part in table.place)


def _table(scope: Scope, name: str) -> ScopeTable | None:
    """Return the table that a name means, None if there is none such."""
    found = [table for table in scope.tables if is_same(table.name, name)]
    if isinstance(name, Qualified):
        found = [table for table in found if _is_at(table, name.place)]
    if len(found) > 1:
        databases = {table.place[0] for table in found}
        part = 0 if len(databases) == len(found) else 1
        where = " and in ".join(f"'{table.place[part]}'" for table in found)
        raise ProgrammingError(
            f"table '{name}' is ambiguous: it is in {where};"
            f" name the {('database', 'schema')[part]} with it"
        )
    return found[0] if found else None


def _resolve_in(table: ScopeTable, name: str) -> Expression:
    places = table.index.places(name)
    if len(places) == 1:
        return table.columns[places[0]][1]
    if not places and table.row_id is not None and is_same(name, ROW_ID):
        return table.row_id
    made = known_name(name, (each for each, _ in table.columns), "column", f" in '{table.name}'")
    raise ProgrammingError(f"column '{made}' is ambiguous: '{table.name}' has two")
