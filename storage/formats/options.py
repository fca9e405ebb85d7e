"""The options of COPY and of functions such as read_csv: their names, and what they mean.

A name may be written in several ways (`delim`, `sep`, `delimiter`); here each has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeAlias

import pyarrow as pa

from raydb.errors import ProgrammingError, did_you_mean
from raydb.storage.formats.infer import SAMPLE_RECORDS, Columns
from raydb.storage.formats.paths import find_compression
from raydb.storage.formats.records import Layout

Option: TypeAlias = (
    str | bool | tuple[str, ...] | tuple[pa.DataType, ...] | Mapping[str, pa.DataType]
)
Options: TypeAlias = Mapping[str, Option]

TBL = Layout("|", quotes=False, null="", null_strings=False)
_ALIASES = {
    "codec": "compression",
    "dateformat": "date_format",
    "delim": "delimiter",
    "dtypes": "types",
    "nullstr": "null",
    "sep": "delimiter",
    "timestampformat": "timestamp_format",
}
_SPELLING = ("delimiter", "quote", "escape", "header", "null", "compression")
_READING = (*_SPELLING, "skip", "date_format", "timestamp_format")
_SEVERAL_FILES = ("filename", "union_by_name")
READ_OPTIONS = {
    "tbl": ("format",),
    "csv": ("format", *_READING),
    "parquet": ("format",),
    "flat": ("format",),
    "json": ("format", "compression"),
}
WRITE_OPTIONS = {
    "csv": ("format", *_SPELLING),
    "parquet": ("format", "compression", "row_group_size"),
    "flat": ("format", "chunk_rows"),
    "json": ("format", "compression"),
}
QUERY_OPTIONS = {
    "tbl": _SEVERAL_FILES,
    "csv": (
        *_READING,
        *("columns", "names", "types", "all_varchar", "sample_size"),
        *_SEVERAL_FILES,
    ),
    "parquet": _SEVERAL_FILES,
    "flat": _SEVERAL_FILES,
    "json": ("columns", "sample_size", "compression", *_SEVERAL_FILES),
}
_SWITCHES = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
_TEXT_COMPRESSIONS = {"gzip": "gzip", "zstd": "zstd", "none": None}


def with_plain_names(written: Options) -> dict[str, Option]:
    """Return the options under the one name that each has.

    Raises ProgrammingError where two names of one option are given.
    """
    plain: dict[str, Option] = {}
    spelling: dict[str, str] = {}
    for given, value in written.items():
        name = given.lower()
        known = _ALIASES.get(name, name)
        if known in plain:
            one, other = sorted((spelling[known], name))
            raise ProgrammingError(f"options '{one}' and '{other}' mean the same; give one of them")
        plain[known], spelling[known] = value, name
    return plain


def check_options(kind: str, settings: Options, known: Mapping[str, tuple[str, ...]]) -> None:
    """Raise ProgrammingError for an option that does not exist, or not for this format."""
    every = sorted({name for names in known.values() for name in names})
    for name in settings:
        if name not in every:
            near = did_you_mean(name, sorted({*every, *_ALIASES}))
            raise ProgrammingError(f"option '{name}' does not exist{near}")
        if name not in known[kind]:
            raise ProgrammingError(f"option '{name}' does not apply to {kind} files")


@dataclass(frozen=True, slots=True)
class TextSettings:
    """How a delimited file is read or written.

    escape: what stands before a quote within quotes, None for another quote. header: whether the
    first record is one, None where that is not said.
    """

    layout: Layout
    escape: str | None
    header: bool | None
    skipped_lines: int
    compression: str | None
    delimiter_given: bool


def text_settings(path: str, kind: str, settings: Options) -> TextSettings:
    """Return what the options say of a .csv or .tbl file.

    Raises ProgrammingError for a bad option.
    """
    compression = compression_of(path, settings)
    if kind == "tbl":
        return TextSettings(TBL, None, False, 0, compression, True)
    layout = _layout(path, settings)
    return TextSettings(
        layout,
        _escape(settings, layout),
        switch(settings, "header"),
        whole_number(settings, "skip") or 0,
        compression,
        "delimiter" in settings or layout.delimiter == "\t",
    )


def _layout(path: str, settings: Options) -> Layout:
    default = "\t" if ".tsv" in PurePath(path.lower()).suffixes[-2:] else ","
    delimiter = _text(settings, "delimiter", default)
    delimiter = "\t" if delimiter == "\\t" else delimiter
    quote = _text(settings, "quote", '"')
    if not _is_mark(quote):
        raise ProgrammingError(f"option quote is one ASCII character, not '{quote}'")
    if not _is_mark(delimiter) or delimiter == quote:
        raise ProgrammingError(
            f"option delimiter is one ASCII character, no quote and no line end, not '{delimiter}'"
        )
    null = settings.get("null", "")
    if not isinstance(null, str) or any(mark in null for mark in (delimiter, quote, "\r", "\n")):
        raise ProgrammingError(
            f"option null is a text without delimiter, quote and line end, not '{null}'"
        )
    return Layout(
        delimiter,
        quotes=True,
        null=null,
        null_strings=True,
        quote=quote,
        date_format=_text(settings, "date_format", "") or None,
        timestamp_format=_text(settings, "timestamp_format", "") or None,
    )


def _is_mark(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in "\r\n\0"


def _text(settings: Options, name: str, default: str) -> str:
    value = settings.get(name, default)
    if not isinstance(value, str):
        raise ProgrammingError(f"option {name} is a text, not '{value}'")
    return value


def _escape(settings: Options, layout: Layout) -> str | None:
    escape = _text(settings, "escape", layout.quote)
    if not _is_mark(escape) or escape == layout.delimiter:
        raise ProgrammingError(f"option escape is one ASCII character, not '{escape}'")
    return None if escape == layout.quote else escape


def switch(settings: Options, name: str) -> bool | None:
    """Return whether an option is on, None where it is not given."""
    if name not in settings:
        return None
    value = _SWITCHES.get(str(settings[name]).lower())
    if value is None:
        raise ProgrammingError(f"option {name} is true or false, not '{settings[name]}'")
    return value


def whole_number(settings: Options, name: str) -> int | None:
    """Return an option that is a whole number, None where it is not given."""
    if name not in settings:
        return None
    written = str(settings[name])
    if not (written.isascii() and written.isdigit()):
        raise ProgrammingError(f"option {name} is a whole number, not '{written}'")
    return int(written)


def compression_of(path: str, settings: Options) -> str | None:
    """Return how a text file is compressed: as the option says, or by its extension."""
    if "compression" not in settings:
        return find_compression(path)
    written = str(settings["compression"]).lower()
    if written == "auto":
        return find_compression(path)
    if written not in _TEXT_COMPRESSIONS:
        known = ("auto", *_TEXT_COMPRESSIONS)
        raise ProgrammingError(
            f"option compression is {', '.join(known[:-1])} or {known[-1]}, not '{written}'"
            f"{did_you_mean(written, known)}"
        )
    return _TEXT_COMPRESSIONS[written]


def columns_of(settings: Options) -> Columns:
    """Return what the options of a query say of a text file's columns."""
    types: Mapping[str, pa.DataType] = {}
    names: tuple[str, ...] = ()
    if "columns" in settings and not settings.keys().isdisjoint({"names", "types", "all_varchar"}):
        raise ProgrammingError("option columns gives names and types; names and types do not apply")
    if "columns" in settings:
        types = _named_types("columns", settings["columns"])
        names = tuple(types)
    if "names" in settings:
        names = _names(settings["names"])
    listed: tuple[pa.DataType, ...] = ()
    if "types" in settings:
        given = settings["types"]
        if isinstance(given, tuple) and all(isinstance(each, pa.DataType) for each in given):
            listed = given
        else:
            types = _named_types("types", given)
    sample: int | None = SAMPLE_RECORDS
    if settings.get("sample_size") == "-1":
        sample = None
    elif "sample_size" in settings:
        sample = max(whole_number(settings, "sample_size") or 0, 1)
    return Columns(
        switch(settings, "header"),
        names,
        types,
        listed,
        switch(settings, "all_varchar") is True,
        sample,
        exact="columns" in settings,
    )


def _named_types(option: str, value: Option) -> Mapping[str, pa.DataType]:
    if not isinstance(value, Mapping) or not value:
        raise ProgrammingError(
            f"option {option} gives types by the names of columns: {{'a': 'INTEGER'}}"
        )
    return value


def _names(value: Option) -> tuple[str, ...]:
    names = value if isinstance(value, tuple) else (value,)
    texts = tuple(name for name in names if isinstance(name, str))
    if len(texts) < len(names) or len(set(texts)) < len(texts):
        raise ProgrammingError("option names is a list of different texts: ['a', 'b']")
    return texts
