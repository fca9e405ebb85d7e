"""Files as the rows of a query, `FROM 'sales.parquet'`: opened, and read column by column.

Several files are one table. They have the same columns, in any order. Their types may differ as
integers do (the wider one holds all), as numbers do (DOUBLE) or as DATE and TIMESTAMP do. With
union_by_name a column may be missing in some of them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError, OperationalError, ProgrammingError, did_you_mean
from raydb.interrupts import check_interrupt
from raydb.names import Names, fold, is_same
from raydb.storage.fields import stored_schema
from raydb.storage.formats.arrow.sql_types import check_names, sql_type
from raydb.storage.formats.file_parts import cast_part
from raydb.storage.formats.files.input_file import open_files
from raydb.storage.formats.format import MAX_COLUMNS, Use, too_many_columns
from raydb.storage.formats.hive import hive_columns
from raydb.storage.formats.known import check_options, find_format
from raydb.storage.formats.options import named_types, switch, with_plain_names
from raydb.storage.formats.paths import describe_failure, expand, matching_files
from raydb.storage.integers import wider_integer
from raydb.storage.nested import map_leaves
from raydb.storage.tables.parts import ArrowPart
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import ROW_NUMBER
from raydb.storage.type_names import sql_type_name
from raydb.storage.uuids import UUID
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.storage.formats.files.input_file import InputFile
    from raydb.storage.formats.format import Format
    from raydb.storage.formats.options import Option, Options
    from raydb.storage.tables.parts import Part

_FILENAME = "filename"
# What DuckDB calls the column of files of JSON that tell of none.
_NO_COLUMNS = "json"


@dataclass(frozen=True, slots=True)
class FileSource:
    """What FROM says of files: paths or patterns, read as one table.

    kind: the format, None where the extension tells it; 'glob' stands for the list of the files.
    """

    patterns: tuple[str, ...]
    kind: str | None = None
    options: tuple[tuple[str, Option], ...] = ()


def open_rows(source: FileSource, whole_sample: bool = False) -> Rows:
    """Open files and return their rows; columns are read when they are asked for.

    whole_sample: all rows of a text file tell the types of its columns, and not the first ones.

    Raises ProgrammingError for an unknown extension or option and a name that two columns have,
    OperationalError for a file that cannot be read or is damaged, DataError for what is wrong
    inside of it. A column of a type that SQL lacks raises NotSupportedError when it is read.
    """
    if source.kind == "glob":
        return _list_files(source.patterns)
    settings = with_plain_names(dict(source.options))
    if whole_sample:
        settings["sample_size"] = "-1"
    given = [name for name in settings if name != "sample_size" or not whole_sample]
    files = [path for each in source.patterns for path in expand(each)]
    formats = []
    for path in files:
        formats.append(find_format(path, source.kind, Use.QUERY))
        check_options(formats[-1], given, Use.QUERY)
    opened = []
    for file, chosen in zip(open_files(files, formats), formats, strict=True):
        check_interrupt()
        opened.append(_open_file(file, chosen, settings))
    # An array of JSON without elements has no columns; others tell which there are.
    opened = [file for file in opened if file.schema.names or file.part.row_count]
    if not any(file.schema.names for file in opened):
        row_count = sum(file.part.row_count for file in opened)
        nothing = pa.table({_NO_COLUMNS: pa.nulls(row_count, pa.string())})
        return Rows(nothing.schema, (ArrowPart(nothing),))
    paths = [each.path for each in opened]
    opened = _with_common_names(opened)
    schema = _common_schema(opened, switch(settings, "union_by_name") is True)
    added = _added_columns(paths, settings)
    schema = stored_schema(_with_columns(paths[0], schema, added))
    parts = []
    for place, one in enumerate(opened):
        constants = {name: added.column(name)[place] for name in added.column_names}
        others = {fold(name) for name in constants}
        found = pa.schema([field for field in one.schema if fold(field.name) not in others])
        origin = f"file '{one.path}'"
        parts.append(cast_part(origin, found, schema, one.part, constants, one.own_names))
    return Rows(schema, tuple(parts))


def _added_columns(paths: Sequence[str], settings: Options) -> pa.Table:
    """Return the columns that files do not hold, with a row for each file."""
    added = {_FILENAME: pa.array(paths, pa.string())} if switch(settings, _FILENAME) else {}
    if switch(settings, "hive_partitioning") is not False:
        given = settings.get("hive_types")
        types = {} if given is None else named_types("hive_types", given)
        is_typed = switch(settings, "hive_types_autocast") is not False
        added = {**added, **hive_columns(paths, types, is_typed=is_typed), **added}
    return pa.table(added)


def _with_columns(path: str, schema: pa.Schema, added: pa.Table) -> pa.Schema:
    """Return the columns of files and those added to them; a folder's name goes before a column's.

    Raises ProgrammingError for a file that has a column with the name of its path's.
    """
    for field in added.schema:
        place = next((n for n, name in enumerate(schema.names) if is_same(name, field.name)), -1)
        if place < 0:
            schema = schema.append(field)
        elif field.name == _FILENAME:
            raise ProgrammingError(f"file '{path}' has a column '{_FILENAME}' already")
        else:
            schema = schema.set(place, field)
    return schema


def _list_files(patterns: tuple[str, ...]) -> Rows:
    paths = [path for pattern in patterns for path in matching_files(pattern)]
    table = pa.table({"file": pa.array(paths, pa.string())})
    return Rows(table.schema, (ArrowPart(table),))


@dataclass(frozen=True, eq=False, slots=True)
class _OpenFile:
    """A file's rows, with the columns as it has them.

    own_names: the names in the file itself of columns that have those of other files.
    """

    path: str
    schema: pa.Schema
    part: Part
    own_names: Mapping[str, str]


def _open_file(file: InputFile, chosen: Format, settings: Options) -> _OpenFile:
    path = file.path
    try:
        file.check(chosen.empty)
        schema, part = chosen.open(file, settings)
    except OSError as error:
        raise OperationalError(describe_failure(path, error)) from None
    if chosen.is_text:
        # Types that are given are SQL's; in files of other formats 16 bytes are a BLOB.
        schema = pa.schema([field.with_type(map_leaves(field.type, _in_file)) for field in schema])
    check_names(path, schema)
    names = schema.names
    if len(names) > MAX_COLUMNS:
        raise too_many_columns(path, len(names))
    for name, times in Counter(names).items():
        if times > 1:
            raise ProgrammingError(f"file '{path}' has two columns named '{name}'")
        if name == ROW_NUMBER:
            raise NotSupportedError(f"file '{path}' has a column '{name}', a name that is reserved")
    return _OpenFile(path, schema, part, {})


def _with_common_names(files: Sequence[_OpenFile]) -> list[_OpenFile]:
    """Return files whose columns have the names of files before, where they differ by case."""
    first, *others = files
    names = list(first.schema.names)
    renamed = [first]
    for file in others:
        found = file.schema.names
        if found == first.schema.names:
            renamed.append(file)
            continue
        known, folded = Names(names), Counter(map(fold, found))
        given = []
        for name in found:
            same = [names[place] for place in known.places(name)]
            given.append(same[0] if len(same) == 1 and folded[fold(name)] == 1 else name)
        names += [name for name in given if name not in names]
        own = {new: old for new, old in zip(given, found, strict=True) if new != old}
        schema = pa.schema(zip(given, file.schema.types, strict=True))
        renamed.append(replace(file, schema=schema, own_names=own))
    return renamed


def _in_file(kind: pa.DataType) -> pa.DataType:
    return pa.uuid() if kind == UUID else kind


def _common_schema(files: Sequence[_OpenFile], by_name: bool) -> pa.Schema:
    """Return the columns of all files in SQL types, in the order of the first file.

    by_name: a column may be missing in a file, where it is NULL. Raises ProgrammingError naming the
    file and the column where the files differ otherwise.
    """
    first, *others = files
    types = {field.name: field.type for field in first.schema}
    for file in others:
        if not by_name:
            _check_names(first, file)
        for field in file.schema:
            known = types.setdefault(field.name, field.type)
            if known != field.type:
                types[field.name] = _common_type(first, file, field, known)
    return pa.schema([(name, sql_type(kind)) for name, kind in types.items()])


def _check_names(first: _OpenFile, file: _OpenFile) -> None:
    for one, other in ((first, file), (file, first)):
        known = frozenset(other.schema.names)
        for name in one.schema.names:
            if name not in known:
                raise ProgrammingError(
                    f"file '{other.path}' has no column '{name}', which '{one.path}' has"
                    f"{did_you_mean(name, other.schema.names)}; "
                    "union_by_name => true reads it as NULL"
                )


def _common_type(
    first: _OpenFile, file: _OpenFile, field: pa.Field, known: pa.DataType
) -> pa.DataType:
    """Return the type that holds a column's values of both files."""
    one, other = sql_type(known), sql_type(field.type)
    types = pa.types
    if one == other or types.is_null(field.type):
        return one
    if types.is_null(known):
        return other
    if {one, other} == {pa.date32(), pa.timestamp("us")}:
        return pa.timestamp("us")
    if types.is_integer(one) and types.is_integer(other):
        return wider_integer((one, other))
    if _is_number(one) and _is_number(other):
        return pa.float64()
    raise ProgrammingError(
        f"file '{file.path}', column '{field.name}': {sql_type_name(other)}, where "
        f"'{first.path}' has {sql_type_name(one)}"
    )


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))
