"""The catalog: metadata of the database as values, without readers or rows."""

from __future__ import annotations

import sys
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from raydb.errors import ProgrammingError
from raydb.names import Unquoted, find_object, fold, is_same
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    import pyarrow as pa

    from raydb.kernels.bvh.bvh import Bvh
    from raydb.kernels.stored.deferred import Deferred
    from raydb.kernels.text.text_index import TextIndex
    from raydb.kernels.vector.conformal import Calibration
    from raydb.kernels.vector.ivf import Ivf
    from raydb.planner.expressions.nodes import Attribute, Expression
    from raydb.storage.tables.sequence import Sequence as NumberSequence
    from raydb.storage.tables.table import TableDefinition

CATALOG = "raydb"
"""The name of a connection's own database."""

TEMP = "temp"
"""The name of the database of a connection's temporary tables and views."""

MAIN = "main"
"""The schema of tables and views that name none."""


@dataclass(frozen=True, eq=False, slots=True)
class TableInfo:
    """A table's definition and statistics.

    `null_counts` has one entry a column; `sample` has the values of a column in some rows, the same
    rows for each column (none for an empty table), `value_counts` about how many values each column
    has by that. `is_encoded` tells of each column whether it is still to be decoded, `is_streamed`
    whether the rows are those of a large text file.
    """

    definition: TableDefinition
    row_count: int
    null_counts: Mapping[str, int]
    sample: Mapping[str, pa.Array]
    value_counts: Mapping[str, float]
    is_encoded: Mapping[str, bool] = field(default_factory=dict)
    is_streamed: bool = False
    # What was found of the table, by who asks it again.
    kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False)


_Guess = TypeVar("_Guess")

# Of a table and of a BVH so many guesses are kept: a plan asks some times, and so does the next.
_MOST_GUESSES = 256


def guessed(info: TableInfo | BvhInfo, asked: Hashable, make: Callable[[], _Guess]) -> _Guess:
    """Return what is known of columns or expressions of a table or a BVH, made the first time."""
    known: dict[Hashable, tuple[_Guess]] = info.kept.setdefault("guesses", {})
    found = known.get(asked)
    if found is None:
        if len(known) >= _MOST_GUESSES:
            known.clear()
        found = known[asked] = (make(),)
    return found[0]


@dataclass(frozen=True, slots=True)
class BvhDefinition:
    """A CREATE BVH statement, bound: what Z, Y and X are made of (RayDB, section 4).

    `text` is the statement as written. `sieve` asks for totals of each cell beside the rows.
    """

    name: str
    table: str
    scan: tuple[Attribute, ...]
    group_by: tuple[Attribute, ...]
    aggregate: tuple[Expression, ...]
    text: str
    sieve: bool = False


@dataclass(frozen=True, slots=True)
class NewerRows:
    """Rows of a fact table that a BVH does not hold: those from number `first` on.

    count: how many of them are visible, at least one.
    """

    first: int
    count: int


@dataclass(frozen=True, eq=False, slots=True)
class BvhInfo:
    """A built BVH. `levels` says where an attribute is encoded: (hierarchy, level).

    `obstacle` says why the BVH serves no query, such as changed rows that it cannot encode: its
    index is then that of the rows before. `newer` are the rows that a query must read beside it.
    `built_on` says which backend built it, None for one that was read from disk.
    """

    definition: BvhDefinition
    index: Bvh
    levels: Mapping[Attribute, tuple[int, int]]
    obstacle: str | None = None
    newer: NewerRows | None = None
    built_on: str | None = None
    # What was found of the BVH, by who asks it again.
    kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False)


@dataclass(frozen=True, eq=False, slots=True)
class CalibrationInfo:
    """A calibration of a vector index, and the table's rows that are new and gone since."""

    calibration: Calibration
    rows_added: int
    rows_deleted: int

    @property
    def is_stale(self) -> bool:
        """Whether the table has changed since."""
        return bool(self.rows_added or self.rows_deleted)

    @property
    def first_list_suffices(self) -> bool:
        """Whether every search ends at the first list: any score is at the threshold."""
        return self.calibration.rule.threshold < -sys.float_info.max / 2


Place = tuple[str, str]
"""A database and one of its schemas."""

# Of so many names it is kept what they mean.
_MOST_KNOWN = 1024


@dataclass(frozen=True, slots=True)
class Found:
    """A table or a view: where it is, its name with the schema, and its key in the catalog."""

    place: Place
    name: str
    key: str

    @property
    def bare(self) -> str:
        """Its name without the schema."""
        return without_schema(self.name, self.place[1])


@dataclass(frozen=True, slots=True)
class Relations:
    """Which table or view of which database a name means.

    databases: of each database its tables and views by name, with the schema where that is another
    one than main, and by what key the catalog has them: in the one that a statement writes to that
    is the name. views: the text of each view's query, by its key. schemas: those of each database
    beside main. current: the place of names that name none and are not those of temporary tables.
    macros: the same of macros, whose definitions are in the place of views; None if there are none.
    known: what names were found to mean, which each statement asks again. stored: what tells the
    names of statements that read what is stored alone.
    """

    databases: Mapping[str, Mapping[str, str]]
    views: Mapping[str, str]
    schemas: Mapping[str, Iterable[str]]
    current: Place = (CATALOG, MAIN)
    macros: Relations | None = None
    known: dict[tuple[str, bool, tuple[Place, ...]], Found] = field(
        default_factory=dict, compare=False
    )
    stored: set[Hashable] = field(default_factory=set, compare=False)

    def places(
        self, qualifiers: Sequence[str] = (), inside: Place | None = None
    ) -> tuple[Place, ...]:
        """Return where a table or a view is looked for, none where a qualifier is not known.

        qualifiers: a database and a schema, or one of them, that are written with it. inside: the
        place of the view whose query names it; None for any other query, to which temporary ones
        hide others. Raises ProgrammingError where the current database was detached.
        """
        database, schema = inside or self.current
        if database not in self.databases:
            raise ProgrammingError(f"database '{database}' was detached; USE another one")
        if not qualifiers:
            first = () if inside else ((TEMP, MAIN),)
            return tuple(dict.fromkeys((*first, (database, schema), (database, MAIN))))
        if len(qualifiers) == 2:
            found = find_object(qualifiers[0], self.databases, "database")
            made = None if found is None else self.schema(qualifiers[1], found)
            return () if found is None or made is None else ((found, made),)
        (name,) = qualifiers
        if is_same(name, MAIN):
            return (*(() if inside else ((TEMP, MAIN),)), (database, MAIN))
        return one_place(
            name,
            find_object(name, self.databases, "database"),
            self.schema(name, database),
            database,
        )

    def schema(self, name: str, database: str) -> str | None:
        """Return the name of a schema as it was made, None if there is none such."""
        return find_object(name, (MAIN, *self.schemas.get(database, ())), "schema")

    def find(self, name: str, places: tuple[Place, ...]) -> Found | None:
        """Return the first table or view of a name; None where there is none such."""
        key = name, isinstance(name, Unquoted), places
        found = self.known.get(key)
        if found is None and (found := self._found(name, places)) is not None:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            self.known[key] = found
        return found

    def keep_stored(self, key: Hashable) -> None:
        """Keep that a statement of some names reads what is stored alone."""
        if len(self.stored) >= _MOST_KNOWN:
            self.stored.clear()
        self.stored.add(key)

    def _found(self, name: str, places: Iterable[Place]) -> Found | None:
        for place in places:
            known = self.databases.get(place[0], {})
            found = find_object(in_schema(name, place[1]), known, "table")
            if found is not None and self.schema_of(found, place[0]) == place[1]:
                return Found(place, found, known[found])
        return None

    def has(self, name: str, places: tuple[Place, ...]) -> bool:
        """Tell whether a table or a view is called exactly so, or by the name in lower case.

        Or by another one that was found to mean it.
        """
        if (name, isinstance(name, Unquoted), places) in self.known:
            return True
        exact = fold(name) if isinstance(name, Unquoted) else name
        for database, schema in places:
            whole = in_schema(exact, schema)
            if whole in self.databases.get(database, ()):
                return self.schema_of(whole, database) == schema
        return False

    def schema_of(self, name: str, database: str) -> str:
        """Return the schema that a name of a database is in."""
        return schema_of(name, self.schemas.get(database, ()))

    def names_at(self, place: Place) -> list[str]:
        """Return the names of all tables and views of a schema, without it."""
        database, schema = place
        return [
            without_schema(name, schema)
            for name in self.databases.get(database, {})
            if self.schema_of(name, database) == schema
        ]

    def place_of(self, key: str) -> Place:
        """Return where a table or a view of the catalog is."""
        for database, known in self.databases.items():
            for name, each in known.items():
                if each == key:
                    return database, self.schema_of(name, database)
        raise AssertionError(key)


def one_place(
    name: str, database: str | None, schema: str | None, current: str
) -> tuple[Place, ...]:
    """Return the place that one qualifier means: a database, or a schema of the current one.

    Raises ProgrammingError for a name that both have.
    """
    if database is not None and schema is not None:
        raise ProgrammingError(
            f"'{name}' is a database and a schema of '{current}'; write {current}.{name} or"
            f" {name}.{MAIN}"
        )
    if database is not None:
        return ((database, MAIN),)
    return () if schema is None else ((current, schema),)


def in_schema(name: str, schema: str) -> str:
    """Return the name of a table with its schema, as its database knows it."""
    if schema == MAIN:
        return name
    whole = f"{schema}.{name}"
    return Unquoted(whole) if isinstance(name, Unquoted) else whole


def without_schema(name: str, schema: str) -> str:
    """Return a name of a database without its schema."""
    return name if schema == MAIN else name[len(schema) + 1 :]


def schema_of(name: str, schemas: Iterable[str]) -> str:
    """Return the schema that a name of a database is in, of those beside main.

    >>> schema_of("sales.t", ["sales"]), schema_of("t", ["sales"])
    ('sales', 'main')
    """
    return next((each for each in schemas if name.startswith(f"{each}.")), MAIN)


@dataclass(frozen=True, eq=False)
class CatalogInfo:
    """One version of the database as the binder and the planner see it.

    `views` maps a view's name to the text of its query; `vector_indexes` has the arrays of each
    index with `ivf`, by its name, `text_indexes` those of each with `text`, and `calibrations`
    those of each that has any. What is in an
    attached database is there under a key, see `Relations`; `attached` has the keys of its tables
    and views by name, `attached_types` its named types, `attached_macros` the keys of its macros,
    `schemas` are those of each database, and `current` is the place of names that name none.
    `macros` maps the name of a macro to the text of its definition, `comments` the kind, the key
    and the column of what has a comment to that.
    """

    tables: Mapping[str, TableInfo]
    views: Mapping[str, str] = field(default_factory=dict)
    bvhs: Mapping[str, BvhInfo] = field(default_factory=dict)
    vector_indexes: Mapping[str, Deferred[Ivf]] = field(default_factory=dict)
    text_indexes: Mapping[str, Deferred[TextIndex]] = field(default_factory=dict)
    calibrations: Mapping[str, Sequence[CalibrationInfo]] = field(default_factory=dict)
    sequences: Mapping[str, NumberSequence] = field(default_factory=dict)
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    attached: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    attached_types: Mapping[str, Mapping[str, pa.DataType]] = field(default_factory=dict)
    schemas: Mapping[str, Iterable[str]] = field(default_factory=dict)
    current: tuple[str, str] = (CATALOG, MAIN)
    macros: Mapping[str, str] = field(default_factory=dict)
    attached_macros: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    comments: Mapping[tuple[str, str, str], str] = field(default_factory=dict)

    @cached_property
    def relations(self) -> Relations:
        """Which table, view or macro a name means."""
        places = self.schemas, self.current
        macros = macro_relations(self.macros, self.attached_macros, *places)
        return relations(self.tables, self.views, self.attached, *places, macros)

    @cached_property
    def named(self) -> dict[Hashable, Any]:
        """What names in FROM stand for, as `sql/bind/query/relations.py` keeps it."""
        return {}

    @cached_property
    def joined(self) -> dict[Hashable, Any]:
        """What foreign keys reach of joined scans, as `planner/stars/reach.py` keeps it."""
        return {}


def relations(
    tables: Iterable[str],
    views: Mapping[str, str],
    attached: Mapping[str, Mapping[str, str]],
    schemas: Mapping[str, Iterable[str]],
    current: Place,
    macros: Relations | None = None,
) -> Relations:
    """Return which table or view a name means, of those of all databases by their keys.

    Where the connection's own is one of `attached`, other keys are files and objects of Python.
    """
    others = {key for known in attached.values() for key in known.values()}
    rest = {key: key for key in (*tables, *views) if key not in others}
    if CATALOG not in attached:
        return Relations({CATALOG: rest, **attached}, views, schemas, current, macros)
    name = current[0]
    known = {**attached, name: {**attached.get(name, {}), **rest}}
    return Relations(known, views, schemas, current, macros)


def macro_relations(
    macros: Mapping[str, str],
    attached: Mapping[str, Mapping[str, str]],
    schemas: Mapping[str, Iterable[str]],
    current: Place,
) -> Relations | None:
    """Return which macro a name means, None where there are no macros."""
    return relations((), macros, attached, schemas, current) if macros else None
