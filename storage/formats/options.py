"""The values of the options of COPY and of functions such as read_csv.

A name may be written in several ways (`delim`, `sep`, `delimiter`); here each has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pyarrow as pa

from raydb.errors import ProgrammingError, did_you_mean
from raydb.storage.formats.delimited.infer import SAMPLE_RECORDS, Columns
from raydb.storage.formats.paths import find_compression

Option: TypeAlias = (
    str | bool | tuple[str, ...] | tuple[pa.DataType, ...] | Mapping[str, pa.DataType]
)
Options: TypeAlias = Mapping[str, Option]

ALIASES = {
    "codec": "compression",
    "column_names": "names",
    "column_types": "types",
    "dateformat": "date_format",
    "decimal": "decimal_separator",
    "delim": "delimiter",
    "dtype": "types",
    "dtypes": "types",
    "maximum_line_size": "max_line_size",
    "nullstr": "null",
    "sep": "delimiter",
    "timestampformat": "timestamp_format",
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
        known = ALIASES.get(name, name)
        if known in plain:
            one, other = sorted((spelling[known], name))
            raise ProgrammingError(f"options '{one}' and '{other}' mean the same; give one of them")
        plain[known], spelling[known] = value, name
    return plain


def given_format(settings: Options) -> str | None:
    """Return the option that tells a file's format, None where its extension does."""
    given = settings.get("format")
    return None if given is None else str(given)


def text_of(settings: Options, name: str, default: str) -> str:
    """Return an option that is a text."""
    value = settings.get(name, default)
    if not isinstance(value, str):
        raise ProgrammingError(f"option {name} is a text, not '{value}'")
    return value


def texts_of(settings: Options, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return an option that is a text or a list of texts."""
    value = settings.get(name, default)
    texts = value if isinstance(value, tuple) else (value,)
    found = tuple(text for text in texts if isinstance(text, str))
    if not found or len(found) < len(texts):
        raise ProgrammingError(f"option {name} is a text or a list of texts, not '{value}'")
    return found


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


def columns_of(settings: Options, header: bool | None = None) -> Columns:
    """Return what the options of a query say of a text file's columns.

    header: whether the first record is one, None where nothing says it.
    """
    types: Mapping[str, pa.DataType] = {}
    names: tuple[str, ...] = ()
    if "columns" in settings and not settings.keys().isdisjoint({"names", "types", "all_varchar"}):
        raise ProgrammingError("option columns gives names and types; names and types do not apply")
    if "columns" in settings:
        types = named_types("columns", settings["columns"])
        names = tuple(types)
    if "names" in settings:
        names = _names(settings["names"])
    listed: tuple[pa.DataType, ...] = ()
    if "types" in settings:
        given = settings["types"]
        if isinstance(given, tuple) and all(isinstance(each, pa.DataType) for each in given):
            listed = given
        else:
            types = named_types("types", given)
    sample: int | None = SAMPLE_RECORDS
    if settings.get("sample_size") == "-1":
        sample = None
    elif "sample_size" in settings:
        sample = max(whole_number(settings, "sample_size") or 0, 1)
    return Columns(
        header,
        names,
        types,
        listed,
        switch(settings, "all_varchar") is True or switch(settings, "auto_detect") is False,
        sample,
        exact="columns" in settings,
    )


def named_types(option: str, value: Option) -> Mapping[str, pa.DataType]:
    """Return an option that is types by name; raises ProgrammingError for another value."""
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
