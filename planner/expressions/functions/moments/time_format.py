"""Dates and timestamps as text of any form: strftime, to_char, strptime.

A format becomes pieces, each a text or a code of strftime; the columns of all pieces are joined.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError, NotSupportedError
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values, try_cast_values
from raydb.planner.expressions.columns.adapters import of_values
from raydb.planner.expressions.columns.arrays import as_array
from raydb.planner.expressions.columns.arrays import each as each_array
from raydb.planner.expressions.columns.calendar_parts import name_of, of_calendar, year_of
from raydb.planner.expressions.columns.moments import compute, compute_finite, finite
from raydb.planner.expressions.columns.units import whole_microseconds
from raydb.planner.expressions.columns.zones import offset_texts, utc_offsets
from raydb.planner.expressions.literals import is_bare_string
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.signature import constant_text, require_moment, require_text
from raydb.planner.expressions.types import (
    BIGINT,
    DATE,
    TEXT,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    is_list,
)
from raydb.planner.expressions.typing_rules import cast, zone_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raydb.planner.expressions.columns.arrays import Values

# Codes that stand for others.
_COMPOUND = {
    "%c": "%Y-%m-%d %H:%M:%S",
    "%x": "%Y-%m-%d",
    "%X": "%H:%M:%S",
    "%D": "%m/%d/%y",
    "%F": "%Y-%m-%d",
    "%T": "%H:%M:%S",
    "%R": "%H:%M",
}
# Codes that are numbers: their kernel and their least number of digits.
_NUMBERS: Mapping[str, tuple[Callable[[Values], Values], int]] = {
    "%Y": (year_of, 4),
    "%G": (of_calendar(pc.iso_year, is_year=True), 4),
    "%y": (lambda values: _modulo(pc.abs(year_of(values)), 100), 2),
    "%m": (pc.month, 2),
    "%d": (pc.day, 2),
    "%j": (pc.day_of_year, 3),
    "%H": (pc.hour, 2),
    "%I": (lambda values: pc.add(_modulo(pc.add(pc.hour(values), 11), 12), 1), 2),
    "%M": (pc.minute, 2),
    "%S": (pc.second, 2),
    "%f": (lambda values: _fraction(values, 1), 6),
    "%g": (lambda values: _fraction(values, 1000), 3),
    "%n": (lambda values: pc.multiply(_fraction(values, 1), 1000), 9),
    "%V": (pc.iso_week, 2),
    "%U": (lambda values: _week_of_year(values, first_day=7), 2),
    "%W": (lambda values: _week_of_year(values, first_day=1), 2),
    "%u": (lambda values: pc.day_of_week(values, count_from_zero=False, week_start=1), 1),
    "%w": (lambda values: pc.day_of_week(values, count_from_zero=True, week_start=7), 1),
    "%q": (pc.quarter, 1),
}
_NAMES = ("%A", "%a", "%B", "%b")
# How far the session's zone is ahead of UTC, and its name.
_ZONE_CODES = ("%z", "%Z")
_ZONE_AT_END = r"^(?P<rest>.*?) *(?P<zone>[Zz]|[+-][0-9:]+|[A-Za-z][A-Za-z0-9_+/-]*)$"
_CODE = re.compile(r"%-?[a-zA-Z]|%%|[^%]+|%")
# The patterns of to_char, longest first, as codes of strftime.
_TO_CHAR = {
    "YYYY": "%Y",
    "IYYY": "%G",
    "HH24": "%H",
    "HH12": "%I",
    "YY": "%y",
    "MM": "%m",
    "DDD": "%j",
    "DD": "%d",
    "HH": "%I",
    "MI": "%M",
    "SS": "%S",
    "MS": "%g",
    "US": "%f",
    "IW": "%V",
    "ID": "%u",
    "Q": "%q",
    "OF": "%z",
    "AM": "%p",
    "PM": "%p",
    "Dy": "%a",
    "Mon": "%b",
    "FMMonth": "%B",
    "FMDay": "%A",
    "FMMM": "%-m",
    "FMDD": "%-d",
    "FMHH24": "%-H",
}
_TO_CHAR_PIECE = re.compile(
    "|".join(sorted(_TO_CHAR, key=len, reverse=True))
    + r'|"(?P<quoted>[^"]*)"|(?P<other>[^a-zA-Z"])'
)


def _modulo(values: Values, by: int) -> Values:
    return pc.subtract(values, pc.multiply(pc.divide(values, by), by))


def _fraction(values: Values, unit: int) -> Values:
    return compute(lambda moments: moments % 1_000_000 // unit, pa.int64(), values)


def _week_of_year(values: Values, first_day: int) -> Values:
    """Return the number of the week; the days before the year's first such day are in week 0."""
    weekday = pc.day_of_week(values, count_from_zero=True, week_start=first_day)
    return pc.divide(pc.subtract(pc.add(pc.day_of_year(values), 6), weekday), 7)


def strftime_pieces(text: str) -> list[str]:
    """Return a format of strftime as codes and texts.

    Raises NotSupportedError for an unknown code.

    >>> strftime_pieces("%x at %-H")
    ['%Y', '-', '%m', '-', '%d', ' at ', '%-H']
    """
    pieces = []
    for piece in _CODE.findall(text):
        if piece in _COMPOUND:
            pieces += strftime_pieces(_COMPOUND[piece])
        elif piece == "%%":
            pieces.append("%%")
        elif piece.startswith("%") and not _is_code(piece):
            raise NotSupportedError(f"the code '{piece}' in the format '{text}' is not supported")
        else:
            pieces.append(piece)
    return pieces


def _is_code(piece: str) -> bool:
    return piece.replace("-", "") in _NUMBERS or piece in (*_NAMES, *_ZONE_CODES, "%p")


def to_char_pieces(text: str) -> list[str]:
    """Return a format of to_char as codes and texts.

    Raises NotSupportedError for a pattern that is not among the common ones.
    """
    pieces = []
    place = 0
    while place < len(text):
        found = _TO_CHAR_PIECE.match(text, place)
        if found is None:
            rest = re.match(r"[a-zA-Z]+|.", text[place:])
            assert rest is not None
            raise NotSupportedError(f"the pattern '{rest[0]}' of to_char() is not supported")
        place = found.end()
        plain = found["quoted"] if found["quoted"] is not None else found["other"]
        code = _TO_CHAR[found[0]] if plain is None else plain.replace("%", "%%")
        if code:
            pieces.append(code)
    return pieces


def _bind_format(
    split: Callable[[str], list[str]], name: str, operand: Expression, form: Expression
) -> Expression:
    if isinstance(operand, Literal) and is_bare_string(operand):  # DuckDB takes both orders
        operand, form = form, operand
    text = constant_text(name, form)
    split(text)  # refuses what it does not know
    if operand.type != TIMESTAMP_NS:
        operand = require_moment(name, operand)
    if operand.type == TIMESTAMPTZ:
        return Call(name, (operand, Literal(text, TEXT), zone_literal()), TEXT)
    operand = cast(operand, TIMESTAMP) if operand.type == DATE else operand
    return Call(name, (operand, Literal(text, TEXT)), TEXT)


def _format(
    split: Callable[[str], list[str]], _: Call, values: Values, form: Values, *zone: Values
) -> Values:
    """Join the texts of a format's pieces; instants are shown in a zone."""
    assert isinstance(form, pa.Scalar), "the format is constant"
    moments, zone_texts = values, {"%z": pa.scalar("+00"), "%Z": pa.scalar("")}
    if moments.type == TIMESTAMP_NS:
        fine = compute_finite(lambda nanoseconds: nanoseconds % 1_000_000_000, BIGINT, values)
        zone_texts["%n"] = pc.utf8_lpad(pc.cast(fine, TEXT), 9, "0")
        moments = whole_microseconds(values)
    if zone:
        name = zone[0].as_py()
        moments = cast_values(values, TIMESTAMP, name)
        zone_texts = {"%z": _offsets(values, name), "%Z": pa.scalar(name)}
    known = finite(moments)
    texts = [
        zone_texts[piece] if piece in zone_texts else _piece_text(piece, known)
        for piece in split(form.as_py())
    ]
    empty = pc.if_else(pc.is_valid(known), "", pa.scalar(None, TEXT))
    shown = pc.binary_join_element_wise(empty, *texts, "")
    return shown if known is moments else pc.coalesce(shown, cast_values(moments, TEXT))


def _offsets(instants: Values, zone: str) -> Values:
    """Return how far a zone is ahead of UTC at instants, as '+02'."""

    def texts(array: pa.Array) -> pa.Array:
        numbers = array.view(pa.int64()).fill_null(0).to_numpy()
        return offset_texts(utc_offsets(numbers, zone))

    return each_array(instants, texts, TEXT)


def _piece_text(piece: str, moments: Values) -> Values:
    if piece == "%%" or not piece.startswith("%"):
        return pa.scalar(piece.replace("%%", "%"))
    if piece == "%p":
        return pc.if_else(pc.less(of_calendar(pc.hour)(moments), 12), "AM", "PM")
    if piece in _NAMES:
        return name_of(moments, piece)
    kernel, digits = _NUMBERS[piece.replace("-", "")]
    kernel = kernel if piece.strip("%-") in "YGy" else of_calendar(kernel)
    text = pc.cast(kernel(moments), TEXT)
    if "-" in piece:
        return text
    # A year before the year 1 has its sign in place of zeros.
    return pc.if_else(pc.starts_with(text, "-"), text, pc.utf8_lpad(text, digits, "0"))


def _of_first_form(name: str, text: Expression, forms: Expression) -> Expression:
    """Return what the first form of a list that fits makes of a text."""
    known = (forms.value if isinstance(forms, Literal) else None) or ()
    if not known:
        raise NotSupportedError(f"{name}() needs a list of formats that is a constant")
    functions = [*["try_strptime"] * (len(known) - 1), name]
    read = [
        _bind_strptime(function, text, Literal(form, TEXT))
        for function, form in zip(functions, known, strict=True)
    ]
    return Call("coalesce", tuple(read), read[-1].type)


def _bind_strptime(name: str, text: Expression, form: Expression) -> Expression:
    if is_list(form.type):
        return _of_first_form(name, text, form)
    pattern = constant_text(name, form)
    pieces = strftime_pieces(pattern)
    _python_format(pattern)  # refuses what it does not know
    has_zone = any(code in pieces for code in _ZONE_CODES)
    if has_zone and pieces[-1] not in _ZONE_CODES:
        raise NotSupportedError(f"{name}() reads a time zone at the end of a text only")
    kind = TIMESTAMPTZ if has_zone else TIMESTAMP
    return Call(name, (require_text(name, text), Literal(pattern, TEXT)), kind)


@scalar(
    "strptime(text, form)",
    "the TIMESTAMP that a text of that form, or of the first of a list that fits, means, with a"
    " time zone if `%z` (`+02`) or `%Z` (`Europe/Oslo`) is its end:"
    " strptime('17.05.2026', '%d.%m.%Y') -> 2026-05-17 00:00:00",
    bind=_bind_strptime,
    can_fail=True,
)
@scalar(
    "try_strptime(text, form)",
    "as strptime(), NULL for a text that is of another form: try_strptime('soon', '%d.%m.%Y')"
    " -> NULL",
    bind=_bind_strptime,
)
def _parse(call: Call, texts: Values, form: Values) -> Values:
    """Read timestamps of a format, each distinct text once."""
    assert isinstance(form, pa.Scalar), "the format is constant"
    encoded = as_array(texts, 1).dictionary_encode()
    read = _read_all(encoded.dictionary, form.as_py(), call.type)
    if call.function == "strptime" and read.null_count:
        text = encoded.dictionary.filter(read.is_null())[0]
        raise DataError(f"'{text}' does not have the format '{form}'")
    found = read.take(encoded.indices)
    return found[0] if isinstance(texts, pa.Scalar) else found


def _read_all(texts: pa.Array, form: str, data_type: pa.DataType) -> pa.Array:
    """Read texts, NULL for those of another form; a time zone at their ends is read by a cast."""
    zones = None
    if data_type == TIMESTAMPTZ:
        form = form[:-2].rstrip()
        parts = pc.extract_regex(texts, pattern=_ZONE_AT_END)
        texts, zones = parts.field("rest"), parts.field("zone")
    pattern, more = _python_format(form)
    moments = pa.array([_read(text, pattern, more) for text in texts.to_pylist()], TIMESTAMP)
    if zones is None:
        return moments
    shown = pc.binary_join_element_wise(moments.cast(TEXT), zones, "")
    return try_cast_values(shown, data_type, "UTC")


# What a week needs beside it, with what it is where a format does not have it: 1900, and the first
# day of the week. Python's strptime leaves out a week without.
_WEEK_NEEDS = {"%U": ("%Y", "%w", "0"), "%W": ("%Y", "%w", "1"), "%V": ("%G", "%u", "1")}
_DAYS = ("%d", "%j", "%m", "%b", "%B")


def _python_format(form: str) -> tuple[str, str]:
    """Return a format for Python's strptime, which reads numbers with and without zeros.

    And the values of codes at its end that stand for what it needs and the form does not have.
    """
    pieces = [piece.replace("%-", "%") for piece in strftime_pieces(form)]
    for piece in pieces:
        if piece in ("%g", "%n", "%q"):
            raise NotSupportedError(f"the code '{piece}' of strptime() is not supported")
    week = next((piece for piece in pieces if piece in _WEEK_NEEDS), None)
    if week is None:
        return "".join(pieces), ""
    if any(piece in _DAYS for piece in pieces):
        raise NotSupportedError("strptime() of a week beside a month or a day is not supported")
    year, weekday, first = _WEEK_NEEDS[week]
    if week == "%V":
        pieces = [year if piece == "%Y" else piece for piece in pieces]
    added, values = "", ""
    if not {"%Y", "%y", "%G"}.intersection(pieces):
        added, values = f" {year}", " 1900"
    if not {"%a", "%A", "%w", "%u"}.intersection(pieces):
        added, values = f"{added} {weekday}", f"{values} {first}"
    return "".join(pieces) + added, values


def _read(text: str | None, pattern: str, more: str) -> dt.datetime | None:
    with suppress(ValueError):
        return None if text is None else dt.datetime.strptime(text + more, pattern)
    return None


for _calls, _says, _split in (
    (
        "strftime(moment, form)",
        "text by a form as in C: `%Y-%m-%d %H:%M:%S`, `%a`, `%B`, `%j`, ...:"
        " strftime(TIMESTAMP '2026-05-17 10:37:21.5', '%d.%m.%Y %H:%M') -> '17.05.2026 10:37'",
        strftime_pieces,
    ),
    (
        "to_char(moment, form)",
        "text by PostgreSQL's form:"
        " to_char(TIMESTAMP '2026-05-17 10:37:21.5', 'YYYY-MM-DD HH24:MI') -> '2026-05-17 10:37'",
        to_char_pieces,
    ),
):
    scalar(_calls, _says, bind=functools.partial(_bind_format, _split))(
        functools.partial(_format, _split)
    )


def _bind_name(name: str, operand: Expression) -> Expression:
    operand = require_moment(name, operand)
    operand = operand if operand.type == DATE else cast(operand, TIMESTAMP)
    return Call(name, (operand,), TEXT)


scalar(
    "dayname(moment)",
    "the name of the day: dayname(DATE '2026-05-17') -> 'Sunday'",
    bind=_bind_name,
)(of_values(functools.partial(name_of, form="%A")))
scalar(
    "monthname(moment)",
    "the name of the month: monthname(DATE '2026-05-17') -> 'May'",
    bind=_bind_name,
)(of_values(functools.partial(name_of, form="%B")))
