"""format() and printf(), text with values in it, and sizes as people read them."""

from __future__ import annotations

import functools
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.keywords import quoted
from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.functions.text import text_or_nothing
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.operators import concatenate
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import as_double, constant_text, require_integer
from raydb.planner.expressions.types import TEXT, is_decimal, is_number
from raydb.planner.expressions.typing_rules import as_text
from raydb.values import dataclass

_PREFIXES = "KMGTPE"
_SIZE = re.compile(r"\s*([0-9.eE+]+)\s*(?:([a-z]+))?\s*", re.IGNORECASE)
_SIZE_UNITS = {
    **dict.fromkeys(("b", "byte", "bytes"), 1),
    **{
        unit.lower(): size
        for power, prefix in enumerate(_PREFIXES, 1)
        for size, units in (
            (1000**power, (prefix, f"{prefix}B")),
            (1024**power, (f"{prefix}iB",)),
        )
        for unit in units
    },
}
_FORMAT_PART = re.compile(r"%(?:(\d+)\$)?(.?)|[^%]+", re.DOTALL)
_VALUE_OF_PERCENT = re.compile(r"%(\d+\$)?[sIL%]")
_BRACES_PART = re.compile(r"\{(\d{0,4})(?::([^{}]{1,40}))?\}|(?:[^{}]|\{\{|\}\})+|[{}]", re.DOTALL)
# {:t.} parts thousands by a character.
_VALUE_FORM = re.compile(r"(.*)t(.)(.*)", re.DOTALL)
_PRINTF_PART = re.compile(
    r"%(?:(?P<place>\d{1,3})\$)?(?P<flags>[-+ 0#,_']*)(?P<width>\d{0,3})"
    r"(?P<precision>(?:\.\d{0,2})?)(?:hh?|ll?|[Lzjt])?(?P<letter>[diuxXocsfFeEgG])|%%|[^%]+|%",
    re.DOTALL,
)
_UNSIGNED = 2**64 - 1
_CHARACTERS = 0x110000
_SURROGATES = range(0xD800, 0xE000)
_OF_DOUBLES = "fFeEgG"
_PREFIX_OF = {"x": "0x", "X": "0X", "o": "0"}


@scalar(
    "quote_ident(text) -> VARCHAR",
    "a name as SQL has to write it: quote_ident('Odd name') -> '\"Odd name\"'",
)
@of_rows
def _quoted_name(name: str) -> str:
    return quoted(name)


@scalar(
    "quote_literal(text) -> VARCHAR",
    "a text as a constant of SQL: quote_literal('it') LIKE '_it_' -> true",
)
@of_rows
def _quoted_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _nullable(value: Expression) -> Expression:
    found = Call("quote_literal", (as_text(value),), TEXT)
    return Call("coalesce", (found, Literal("NULL", TEXT)), TEXT)


composed(
    "quote_nullable(a)",
    "a value as a constant of SQL, NULL too: quote_nullable(NULL) -> 'NULL'",
)(lambda _, value: _nullable(value))
# What the letters of format() make of a value.
_WRITTEN = {
    "s": text_or_nothing,
    "I": lambda value: Call("quote_ident", (as_text(value),), TEXT),
    "L": _nullable,
}


@composed(
    "format(form [, a, ...])",
    "`%s` is the next value, `%2$s` the second, `%I` one as a name, `%L` one as a constant, `%%` a"
    " per cent sign; of a form without them `{}` is the next value, `{1}` the second, `{:,}` and"
    " `{:.2f}` a number as in Python: format('%s of %I', 3, 'a b'), format('{} of {:.1f}', 3, 2)"
    " -> '3 of \"a b\"' | '3 of 2.0'",
)
def _format(name: str, form: Expression, *values: Expression) -> Expression:
    text = constant_text(name, form, "format")
    if values and "{" in text and not _VALUE_OF_PERCENT.search(text):
        return _in_braces(name, text, values)
    pieces: list[Expression] = [Literal("", TEXT)]
    following = 0
    for part in _FORMAT_PART.finditer(text):
        number, letter = part.groups()
        if letter is None or part[0] == "%%":
            pieces.append(Literal("%" if letter else part[0], TEXT))
            continue
        if letter not in _WRITTEN:
            raise NotSupportedError(f"{name}() knows %s, %1$s, %I, %L and %%, not '{part[0]}'")
        place = following if number is None else int(number) - 1
        if not 0 <= place < len(values):
            raise ProgrammingError(f"{name}() has {len(values)} values, and none for '{part[0]}'")
        pieces.append(_WRITTEN[letter](values[place]))
        following = place + 1
    return Call("concat", tuple(pieces), TEXT)


def _in_braces(name: str, text: str, values: tuple[Expression, ...]) -> Expression:
    """Return a form with values in braces, as those of fmt and Python."""
    following = 0
    pieces: list[Expression] = [Literal("", TEXT)]
    for part in _BRACES_PART.finditer(text):
        number, form = part.groups()
        if part[0] in ("{", "}"):
            raise ProgrammingError(f"'{text}' has a brace without its other one")
        if number is None:
            plain = part[0].replace("{{", "{").replace("}}", "}")
            pieces.append(Literal(plain, TEXT))
            continue
        place = int(number) if number else following
        following += not number
        if place >= len(values):
            raise ProgrammingError(f"{name}() has {len(values)} values, and none for '{part[0]}'")
        value = values[place]
        if form and re.search(r"\d{5}", form):
            raise ProgrammingError(f"{name}() makes no field as wide as that of '{part[0]}'")
        if form:
            is_plain = is_number(value.type) or value.type == TEXT
            value = value if is_plain else as_text(value)
            value = as_double(name, value) if is_decimal(value.type) else value
            value = Call("format_value", (value, Literal(form, TEXT)), TEXT)
        pieces.append(as_text(value))
    return functools.reduce(concatenate, pieces)


@scalar(name="format_value", can_fail=True)
@of_rows
def _format_value(value: object, form: str) -> str:
    known = _VALUE_FORM.fullmatch(form)
    try:
        if known is None:
            return format(value, form)
        return format(value, f"{known[1]},{known[3]}").replace(",", known[2])
    except ValueError:
        raise DataError(f"'{form}' is no format of {value!r}") from None


@dataclass(frozen=True, slots=True)
class _Field:
    """A part of a form of printf() that shows a value, as in C, or its digits in groups.

    place: which value it is, from 0. precision: None where it has none. mark: what stands between
    groups of three digits, '' for nothing.
    """

    place: int
    letter: str
    flags: str
    width: int
    precision: int | None
    mark: str

    def of(self, name: str, value: Expression) -> Expression:
        """Return a value as the letter wants it."""
        if self.letter == "s":
            return as_text(value)
        if self.letter in _OF_DOUBLES:
            return as_double(name, value)
        return require_integer(name, value)

    def written(self, value: Any) -> str:
        """Return the text of a value; raises DataError for what is no character."""
        if self.letter == "s":
            return self._padded("", value[: self.precision])
        if self.letter == "c":
            if not 0 <= value < _CHARACTERS or value in _SURROGATES:
                raise DataError(f"{value} is no character")
            return self._padded("", chr(value))
        sign = ""
        if self.letter in "di" or self.letter in _OF_DOUBLES:
            is_negative = value < 0 or (value == 0 and math.copysign(1, value) < 0)
            sign = "-" if is_negative else "+" if "+" in self.flags else " " * (" " in self.flags)
            value = abs(value)
        if self.letter in _OF_DOUBLES:
            has_zeros = "0" in self.flags and math.isfinite(value)
            return self._padded(sign, self._double(value), has_zeros=has_zeros)
        prefix = _PREFIX_OF.get(self.letter, "") if "#" in self.flags and value else ""
        has_zeros = "0" in self.flags and self.precision is None
        return self._padded(sign + prefix, self._digits(value), has_zeros=has_zeros)

    def _digits(self, value: int) -> str:
        kind = "d" if self.letter in "diu" else self.letter
        if kind != "d":
            return format(value & _UNSIGNED, kind).zfill(self.precision or 0)
        text = format(value & _UNSIGNED if value < 0 else value, "," if self.mark else "d")
        return text.replace(",", self.mark).zfill(self.precision or 0)

    def _double(self, value: float) -> str:
        places = "" if self.precision is None else f".{self.precision}"
        grouping = "," if self.mark else ""
        alternate = "#" if "#" in self.flags else ""
        return format(value, f"{alternate}{grouping}{places}{self.letter}").replace(",", self.mark)

    def _padded(self, before: str, text: str, *, has_zeros: bool = False) -> str:
        if "-" in self.flags:
            return (before + text).ljust(self.width)
        if has_zeros:
            return before + text.zfill(self.width - len(before))
        return (before + text).rjust(self.width)


@functools.lru_cache(maxsize=256)
def _printf_parts(form: str) -> tuple[str | _Field, ...]:
    """Return the texts and the fields of a form; raises ProgrammingError for others."""
    parts: list[str | _Field] = []
    following = 0
    for part in _PRINTF_PART.finditer(form):
        letter = part["letter"]
        if part[0] == "%":
            raise ProgrammingError(
                f"'{form}' is no form of printf(): a field ends in one of"
                " diuxXocsfFeEgG, and %% is a per cent sign"
            )
        if letter is None:
            parts.append(part[0].replace("%%", "%"))
            continue
        place = following if part["place"] is None else int(part["place"]) - 1
        following = place + 1
        parts.append(_field(place, letter, part["flags"], part["width"], part["precision"]))
    return tuple(parts)


def _field(place: int, letter: str, flags: str, width: str, precision: str) -> _Field:
    marks = [flag for flag in flags if flag in ",_'"]
    if precision == "." and letter in "diu":  # the third mark of DuckDB's
        marks, precision = ["."], ""
    places = int(precision[1:] or 0) if precision else None
    mark = marks[-1] if marks and letter in "diufF" else ""
    return _Field(place, letter, flags, int(width or 0), places, mark)


def _bind_printf(name: str, form: Expression, *values: Expression) -> Expression:
    """Return printf() as in C: %d takes an integer, %f, %e and %g a number, %s any value."""
    text = constant_text(name, form, "format")
    fields = [part for part in _printf_parts(text) if isinstance(part, _Field)]
    count = max((field.place + 1 for field in fields), default=0)
    if count != len(values) or any(field.place < 0 for field in fields):
        raise ProgrammingError(f"'{text}' takes {count} values, not {len(values)}")
    checked = (field.of(name, values[field.place]) for field in fields)
    return Call("printf", (Literal(text, TEXT), *checked), TEXT)


@scalar(
    "printf(form [, a, ...])",
    "`%d`, `%x`, `%s`, `%f`, `%e`, `%g` and kin as in C, `%2$s` the second value, `%,d` with marks"
    " of thousands: printf('%05.2f|%5d|%x', 3.14159, 42, 255) -> '03.14|   42|ff'",
    bind=_bind_printf,
    can_fail=True,
)
@of_rows
def _printf(form: str, *values: object) -> str:
    given = iter(values)
    return "".join(
        part if isinstance(part, str) else part.written(next(given)) for part in _printf_parts(form)
    )


def _size_text(size_bytes: int, base: int, suffix: str) -> str:
    """Return a size in the largest unit that it fills, with a tenth that is cut off."""
    sign, rest = "-" if size_bytes < 0 else "", abs(size_bytes)
    power = max((p for p in range(len(_PREFIXES)) if rest >= base**p), default=0)
    if not power:
        return f"{sign}{rest} {'byte' if rest == 1 else 'bytes'}"
    whole, tenths = divmod(rest * 10 // base**power, 10)
    return f"{sign}{whole}.{tenths} {_PREFIXES[power - 1]}{suffix}"


@scalar(
    "format_bytes(n), formatreadablesize(n), pg_size_pretty(n) -> VARCHAR",
    "a size in units of 1024 bytes: format_bytes(16000) -> '15.6 KiB'",
)
@of_rows
def _binary_size(size_bytes: int) -> str:
    return _size_text(size_bytes, 1024, "iB")


@scalar(
    "formatreadabledecimalsize(n) -> VARCHAR",
    "a size in units of 1000 bytes: formatreadabledecimalsize(16000) -> '16.0 kB'",
)
@of_rows
def _decimal_size(size_bytes: int) -> str:
    return _size_text(size_bytes, 1000, "B").replace("KB", "kB")


@scalar(
    "parse_formatted_bytes(text) -> BIGINT",
    "the bytes that a size means: parse_formatted_bytes('1.5 MB') -> 1500000",
    can_fail=True,
)
@of_rows
def _bytes_of(text: str) -> int:
    found = _SIZE.fullmatch(text)
    size = None if found is None else _SIZE_UNITS.get((found[2] or "").lower())
    try:
        if found is None or size is None:
            raise InvalidOperation
        total = int(Decimal(found[1]) * size)
    except InvalidOperation:
        raise DataError(f"'{text}' is no size such as '16 KiB' or '1.5 MB'") from None
    if total >= 2**63:
        raise DataError(f"'{text}' is out of range for BIGINT")
    return total


# The last character of a bar, by the eighths of it that are full.
_EIGHTHS = " ▏▎▍▌▋▊▉"
_WIDEST_BAR = 1000


@scalar(
    "bar(x: double, low: double, high: double [, width: double]) -> VARCHAR",
    "a bar as long as `x` lies between two numbers, 80 characters or `width` for the whole:"
    " bar(3, 0, 8, 4) -> '█▌  '",
    can_fail=True,
)
@of_rows
def _bar(x: float, low: float, high: float, width: float = 80) -> str:
    if not 1 <= width <= _WIDEST_BAR:
        raise DataError(f"a bar has a width of 1 to {_WIDEST_BAR}, not {width:g}")
    if not (math.isfinite(low) and math.isfinite(high)):
        raise DataError(f"a bar is not between {low:g} and {high:g}")
    share = 0.0 if math.isnan(x) or x < low else 1.0 if x >= high else (x - low) / (high - low)
    whole, rest = divmod(share * width, 1)
    return ("█" * int(whole) + _EIGHTHS[int(rest * 8)].rstrip()).ljust(int(width))
