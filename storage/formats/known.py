"""The formats that are known, and which of them a file has: `register` adds another."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError, did_you_mean
from raydb.storage.formats.arrow.ipc_file import ARROW_IPC
from raydb.storage.formats.delimited.csv_file import CSV
from raydb.storage.formats.delimited.tbl_file import TBL
from raydb.storage.formats.excel.xlsx_file import XLSX
from raydb.storage.formats.flat import FLAT
from raydb.storage.formats.format import Use
from raydb.storage.formats.json.json_lines import JSON
from raydb.storage.formats.options import ALIASES
from raydb.storage.formats.parquet import PARQUET
from raydb.storage.formats.paths import COMPRESSIONS
from raydb.storage.objects.urls import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raydb.storage.formats.format import Format

FORMATS: dict[str, Format] = {}


def register(added: Format) -> None:
    """Make a format known, by its name."""
    assert FORMATS.setdefault(added.name, added) is added, f"format {added.name} is there"


for _format in (FLAT, PARQUET, CSV, TBL, JSON, ARROW_IPC, XLSX):
    register(_format)


def find_format(path: str, given: str | None, use: Use) -> Format:
    """Return the format of a file: the one given, or that of its extension.

    Raises ProgrammingError if it is none that the statement has.
    """
    known = {each.name: each for each in FORMATS.values() if use in each.uses}
    if use is not Use.QUERY:
        known = dict(sorted(known.items(), key=lambda entry: entry[1].copy_place))
    if given is not None:
        name = _name_of(given)
        if name not in known:
            near = did_you_mean(name, tuple(known))
            raise ProgrammingError(f"format '{name}' is not one of {', '.join(known)}{near}")
        return known[name]
    path = shown(path)
    file = PurePath(path)
    extension = file.with_suffix("").suffix if file.suffix in COMPRESSIONS else file.suffix
    name = _name_of(extension.removeprefix("."))
    if name not in known:
        found = f"the unknown extension '{extension}'" if extension else "no extension"
        *names, last = known
        raise ProgrammingError(
            f"file '{path}' has {found}; the format may be {', '.join(names)} or {last}, "
            f"by the extension{'' if use is Use.QUERY else ' or by the option format'}"
        )
    return known[name]


def _name_of(extension: str) -> str:
    plain = extension.lower()
    return next((each.name for each in FORMATS.values() if plain in each.extensions), plain)


def check_options(chosen: Format, settings: Iterable[str], use: Use) -> None:
    """Raise ProgrammingError for an option that does not exist, or not for this format."""
    every = {name for each in FORMATS.values() if use in each.uses for name in each.options_of(use)}
    for name in settings:
        if name not in every:
            near = did_you_mean(name, sorted({*every, *ALIASES}))
            raise ProgrammingError(f"option '{name}' does not exist{near}")
        if name not in chosen.options_of(use):
            raise ProgrammingError(f"option '{name}' does not apply to {chosen.name} files")
