"""Tables: their definition, their rows, and where their foreign keys point."""

from __future__ import annotations

import sys
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.kernels.stored.deferred import Deferred, DeferredValues
from raydb.storage.bits import BIT
from raydb.storage.tables.sample import beginnings, estimated_count
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raydb.storage.tables.rows import Rows
    from raydb.storage.tables.sequence import Identity

ROW_NUMBER = "row number"
"""A scan's column of this name gives the rows' numbers (int32); no table has a column named so."""


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """`PRIMARY KEY (columns)` or `UNIQUE (columns)`; `name` is empty unless one was given."""

    columns: tuple[str, ...]
    name: str = ""


# Rows that the planner measures predicates on, and how many of them lie side by side: values that
# belong together often do. Of a large table each run is a few pages that may have to be read.
SAMPLE_ROWS = 2048
_RUN_ROWS = 8
_RUN_ROWS_IF_LARGE = 32
_LARGE_ROWS = 2**20
_GOLDEN_RATIO = 0.6180339887498949
# Values that may take more than this on the average are sampled a few at a time and cut.
_LONG_BYTES = 2048
_FEW_LONG = 16


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`FOREIGN KEY (columns) REFERENCES table (references)`; the references are a unique key.

    `on_delete` and `on_update` are what becomes of a row that refers to one which is deleted or
    gets another key: CASCADE, SET NULL, SET DEFAULT, or nothing, so that this is an error.
    """

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]
    name: str = ""
    on_delete: str = ""
    on_update: str = ""

    @property
    def actions(self) -> tuple[str, str]:
        """What ON DELETE and ON UPDATE say."""
        return self.on_delete, self.on_update


@dataclass(frozen=True, slots=True)
class Check:
    """`CHECK (text)`, of the columns that the text reads; the text is bound where it is used."""

    text: str
    columns: tuple[str, ...]
    name: str = ""


UNTYPED = pa.null()
"""The type of a generated column as written without one, until that of its expression is known."""


@dataclass(frozen=True, slots=True)
class Generated:
    """`column AS (text)`, of the columns that the text reads, which may be generated too.

    Its values are computed when a row is written, and stored with it.
    """

    column: str
    text: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IvfOptions:
    """CREATE INDEX ... USING ivf or hnsw (column) WITH; `lists` is 0 where the rows decide.

    metric: l2, cosine, ip, l1 or hamming. quantization: none or int8. m: an hnsw index joins a
    vector to 2 m others at most; 0 for an ivf index. ef_construction: of how many of the nearest
    ones these are.
    """

    metric: str = "l2"
    lists: int = 0
    seed: int = 0
    quantization: str = "none"
    m: int = 0
    ef_construction: int = 0

    @property
    def method(self) -> str:
        """What CREATE INDEX ... USING says."""
        return "hnsw" if self.m else "ivf"


# The types of vectors, as errors name them.
SEARCHABLE = "FLOAT[n], DOUBLE[n], FLOAT16[n], TINYINT[n], BIT or BLOB"


def has_bits(data_type: pa.DataType) -> bool:
    """Say whether values of a type are bits, whose metric is hamming."""
    return bool(data_type == BIT or pa.types.is_binary(data_type))


def unsuited(metric: str, data_type: pa.DataType) -> str:
    """Return what errors say of a metric that is not that of a type; '' where it is."""
    if has_bits(data_type) == (metric == "hamming"):
        return ""
    suits = "hamming" if has_bits(data_type) else "l2, cosine, ip or l1"
    return f", whose metric is {suits}, not {metric}"


def is_searchable(data_type: pa.DataType) -> bool:
    """Say whether a type has vectors to search among, see `SEARCHABLE`."""
    if has_bits(data_type):
        return True
    is_fixed = pa.types.is_fixed_size_list(data_type)
    numbers = (pa.float32(), pa.float64(), pa.float16(), pa.int8())
    return bool(is_fixed and data_type.value_type in numbers)


@dataclass(frozen=True, slots=True)
class TextOptions:
    """CREATE INDEX ... USING fts (column) WITH (stemmer = 'english'); '' for words as they are."""

    stemmer: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """CREATE [UNIQUE] INDEX name; `descending` has one entry a column.

    A unique one is enforced. Rows are found by its columns as by those of a key (key_index.py), in
    any order; vectors are looked up in one that has `ivf`, words in one that has `text`.
    """

    name: str
    columns: tuple[str, ...]
    descending: tuple[bool, ...]
    unique: bool
    ivf: IvfOptions | None = None
    text: TextOptions | None = None

    @property
    def is_of_keys(self) -> bool:
        """Whether rows are found by values that are equal to those of its columns."""
        return self.ivf is None and self.text is None


@dataclass(frozen=True, slots=True)
class FileLayout:
    """CREATE TABLE ... WITH: how the table's FlatStor files are written, by column.

    What is not given is chosen from the data; see `raydb.flatstor.write_table`.
    """

    chunk_rows: tuple[tuple[str, int], ...] = ()
    encodings: tuple[tuple[str, str], ...] = ()
    offset_index: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A CREATE TABLE statement: columns as an Arrow schema, and the constraints on them.

    A column that is NOT NULL (or in the primary key) has `nullable=False` in the schema.
    `defaults` has the column and the expression of each DEFAULT, those of `identities` too.
    """

    name: str
    schema: pa.Schema
    primary_key: UniqueKey | None = None
    unique_keys: tuple[UniqueKey, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    checks: tuple[Check, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    layout: FileLayout = FileLayout()
    indexes: tuple[Index, ...] = ()
    identities: tuple[Identity, ...] = ()
    generated: tuple[Generated, ...] = ()

    @property
    def given_schema(self) -> pa.Schema:
        """The columns that a statement may give values to: all but the generated ones."""
        computed = {each.column for each in self.generated}
        if not computed:
            return self.schema
        return pa.schema([field for field in self.schema if field.name not in computed])

    def in_order(self) -> tuple[tuple[Generated, ...], ...]:
        """Return the generated columns in steps: each reads columns of steps before it alone.

        Raises ProgrammingError for those that read each other in a circle.
        """
        left = {each.column: each for each in self.generated}
        steps = []
        while left:
            step = tuple(each for each in left.values() if left.keys().isdisjoint(each.columns))
            if not step:
                circle = ", ".join(left)
                raise ProgrammingError(
                    f"table '{self.name}' has generated columns that depend on each other: {circle}"
                )
            steps.append(step)
            left = {name: each for name, each in left.items() if each not in step}
        return tuple(steps)

    @property
    def declared_keys(self) -> tuple[UniqueKey, ...]:
        """The primary key, if there is one, and the unique keys."""
        return (() if self.primary_key is None else (self.primary_key,)) + self.unique_keys

    @property
    def ivf_indexes(self) -> tuple[Index, ...]:
        """The indexes in which vectors are looked up."""
        return tuple(index for index in self.indexes if index.ivf is not None)

    @property
    def text_indexes(self) -> tuple[Index, ...]:
        """The indexes in which words are looked up."""
        return tuple(index for index in self.indexes if index.text is not None)

    @property
    def keys(self) -> tuple[UniqueKey, ...]:
        """All that no two rows can have in common: the declared keys and unique indexes."""
        indexes = (UniqueKey(each.columns, each.name) for each in self.indexes if each.unique)
        return (*self.declared_keys, *indexes)

    @property
    def key_columns(self) -> frozenset[str]:
        """The columns of keys, foreign keys and indexes of keys."""
        keys: list[UniqueKey | ForeignKey | Index] = [*self.declared_keys, *self.foreign_keys]
        keys += [each for each in self.indexes if each.is_of_keys]
        return frozenset(name for key in keys for name in key.columns)


Constraint = UniqueKey | ForeignKey | Check


def constraint_names(definition: TableDefinition) -> list[tuple[Constraint, str]]:
    """Return a table's constraints with their names; one without gets PostgreSQL's name for it.

    It has the table's name without its schema.

    >>> constraint_names(TableDefinition("t", schema, unique_keys=(UniqueKey(("a", "b")),)))
    [(UniqueKey(columns=('a', 'b'), name=''), 't_a_b_key')]
    """
    kinds: list[tuple[Constraint, str]] = []
    table = definition.name.rpartition(".")[2]
    if definition.primary_key is not None:
        kinds.append((definition.primary_key, f"{table}_pkey"))
    for kind, constraints in (
        ("key", definition.unique_keys),
        ("fkey", definition.foreign_keys),
        ("check", definition.checks),
    ):
        for constraint in constraints:
            columns = constraint.columns
            if isinstance(constraint, Check) and len(columns) > 1:
                columns = ()
            kinds.append((constraint, "_".join((table, *columns, kind))))
    taken = {constraint.name for constraint, _ in kinds}
    named: list[tuple[Constraint, str]] = []
    for constraint, stem in kinds:
        name, number = constraint.name or stem, 0
        while not constraint.name and name in taken:
            number += 1
            name = f"{stem}{number}"
        taken.add(name)
        named.append((constraint, name))
    return named


def check_given(definition: TableDefinition, column: str) -> None:
    """Raise ProgrammingError for a column that no statement gives a value to."""
    if any(each.column == column for each in definition.generated):
        raise ProgrammingError(
            f"column '{column}' of table '{definition.name}' is generated: it takes no value"
        )


def check_generated(definition: TableDefinition) -> None:
    """Raise for generated columns that depend on each other, and for keys of them."""
    name = definition.name
    if not len(definition.given_schema):
        raise ProgrammingError(f"table '{name}' has no column that is not generated")
    for each in definition.generated:
        for column in (each.column, *each.columns):
            if column not in definition.schema.names:
                raise ProgrammingError(f"column '{column}' does not exist in '{name}'")
    definition.in_order()
    primary_key = definition.primary_key
    keys = [] if primary_key is None else [("the primary key", primary_key.columns)]
    keys += [("a foreign key", key.columns) for key in definition.foreign_keys]
    for kind, columns in keys:
        for each in definition.generated:
            if each.column in columns:
                raise NotSupportedError(
                    f"column '{each.column}' of table '{name}' is generated, so it cannot be part"
                    f" of {kind}"
                )


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """A version of a table: a frozen value, replaced by each statement that writes to it.

    Rows keep their numbers, 0 .. row_count - 1, until VACUUM. `live` (bool, shape (row_count,),
    read-only) tells which of them are visible, None that all are: DELETE masks rows, UPDATE masks
    them and appends their new versions.

    `foreign_rows[i]` holds, for each row, the row number that foreign key i points to in the
    referenced table (int8, int16 or int32, shape (row_count,)), or -1 where the key is NULL. They
    are found when the constraint is checked, and denormalisation gathers through them. Visible rows
    point to visible ones; a masked row may point anywhere.
    """

    definition: TableDefinition
    rows: Rows
    version: int
    foreign_rows: Mapping[ForeignKey, NDArray[Any]] = field(default_factory=dict)
    live: NDArray[np.bool_] | None = None
    _null_counts: dict[str, int] = field(default_factory=dict, init=False)
    _samples: dict[str, pa.Array] = field(default_factory=dict, init=False)
    _value_counts: dict[str, float] = field(default_factory=dict, init=False)
    _rests: dict[tuple[tuple[int, int], ...], Table] = field(default_factory=dict, init=False)

    @property
    def name(self) -> str:
        """The table's name."""
        return self.definition.name

    @property
    def row_count(self) -> int:
        """The number of rows, masked ones too."""
        return self.rows.row_count

    @property
    def live_count(self) -> int:
        """The number of visible rows."""
        return self.row_count if self.live is None else int(np.count_nonzero(self.live))

    @property
    def expected_count(self) -> int:
        """The number of visible rows, or a guess where it takes reading them all."""
        return self.rows.expected_row_count if self.live is None else self.live_count

    def rest(self, first: int) -> Table:
        """Return a table of the rows from number `first` on, which is kept.

        It has another name, so that it can stand beside the table that it is of, to which its
        foreign keys may point.
        """
        return self.only(((first, self.row_count),), f"from row {first} on")

    def only(self, ranges: tuple[tuple[int, int], ...], called: str = "") -> Table:
        """Return a table of the rows in some ranges, first and behind the last; see `rest`.

        called: what its name says, by default the ranges.
        """
        if ranges not in self._rests:
            said = called or ", ".join(f"rows {first} to {stop}" for first, stop in ranges)

            def chosen(values: NDArray[Any]) -> NDArray[Any]:
                pieces = [values[first:stop] for first, stop in ranges]
                return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

            live = None if self.live is None else chosen(self.live)
            # A query follows few of a table's keys, whose rows may be in a file that nobody read.
            whole = self.foreign_rows

            def pointers(key: ForeignKey) -> NDArray[Any]:
                return chosen(whole[key])

            self._rests[ranges] = Table(
                replace(self.definition, name=f"{self.name}, {said}"),
                self.rows.only(ranges),
                self.version,
                DeferredValues({key: Deferred(partial(pointers, key)) for key in whole}),
                None if live is None or live.all() else live,
            )
        return self._rests[ranges]

    def live_column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values in the visible rows."""
        column = self.rows.column(name)
        return column if self.live is None else column.filter(pa.array(self.live))

    def is_encoded(self, name: str) -> bool:
        """Tell whether a column is still to be decoded."""
        return not self.rows.is_decoded(name)

    def null_count(self, name: str) -> int:
        """Count a column's NULLs in the visible rows; the number is kept."""
        known = self._null_counts.get(name)
        if known is None:
            known = 0
            if self.definition.schema.field(name).nullable:
                known = self.rows.null_count(name)
            if known and self.live is not None:
                known = int(self.live_column(name).null_count)
            self._null_counts[name] = known
        return known

    def sample(self, name: str) -> pa.Array:
        """Return a column's values in some visible rows, the same for each column; they are kept.

        Of values that are very long there may be the beginnings. The rows come in runs from all
        over the table; of rows that are read from the start they are the first ones.
        """
        if name not in self._samples and not self.rows.is_seekable:
            (head,) = self.rows.head([name], SAMPLE_ROWS)
            self._samples[name] = head.combine_chunks()
        if name not in self._samples:
            numbers = np.arange(min(self.row_count, SAMPLE_ROWS))
            if self.row_count > len(numbers):
                run = self._sample_run_rows
                runs = np.arange(SAMPLE_ROWS // run)
                # The gaps between runs are uneven: values may come again at even distances.
                shares = (runs + runs * _GOLDEN_RATIO % 1) / len(runs)
                places = runs * run + (shares * (self.row_count - SAMPLE_ROWS)).astype(np.int64)
                numbers = (places[:, None] + np.arange(run)).ravel()
            if self.live is not None:
                numbers = numbers[self.live[numbers]]
            self._samples[name] = self._sampled(name, numbers)
        return self._samples[name]

    def value_count(self, name: str) -> float:
        """Return about how many values a column has, by its sample; lists are taken to differ."""
        if name not in self._value_counts:
            sample = self.sample(name)
            if not len(sample):
                found = 1.0  # others divide by it
            elif pa.types.is_nested(sample.type):
                found = float(self.expected_count)
            else:
                found = estimated_count(sample, self.expected_count, self._sample_run_rows)
            self._value_counts[name] = found
        return self._value_counts[name]

    @property
    def _sample_run_rows(self) -> int:
        """The number of rows of a sample that lie side by side."""
        if not self.rows.is_seekable:
            return 1
        return _RUN_ROWS_IF_LARGE if self.row_count > _LARGE_ROWS else _RUN_ROWS

    def _sampled(self, name: str, numbers: NDArray[np.int64]) -> pa.Array:
        """Return a column's values in some rows; where they are long, their beginnings run by run.

        One dictionary of few texts may stand for very many bytes.
        """
        rows = self.rows
        kind = rows.schema.field(name).type
        mean = rows.decoded_bytes([name], sys.maxsize) / max(rows.row_count, 1)
        if mean <= _LONG_BYTES:
            return rows.take(name, numbers).combine_chunks()
        runs = np.split(numbers, range(_FEW_LONG, len(numbers), _FEW_LONG))
        found = [beginnings(rows.take(name, run)) for run in runs]
        chunks = [chunk for part in found for chunk in part.chunks]
        return pa.chunked_array(chunks, kind).combine_chunks()
