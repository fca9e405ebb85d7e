"""Constants with a syntax of their own: x'AB', e'...', 'in several ' 'parts', INTERVAL '1' DAY."""

from __future__ import annotations

import re

import pyarrow as pa
from sqlglot import exp

from raydb.errors import DataError, NotSupportedError
from raydb.planner.expressions.interval_text import unit_name
from raydb.planner.expressions.literals import read_string
from raydb.planner.expressions.nodes import Literal
from raydb.planner.expressions.types import INTERVAL
from raydb.sql.parse.nodes import unsupported

_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)\s*")
# What a text between two units looks like; others would be read otherwise than PostgreSQL does.
_SPANS = {
    ("year", "month"): re.compile(r"\s*[+-]?[0-9]+-[0-9]+\s*"),
    ("day", "minute"): re.compile(r"\s*[+-]?[0-9]+ +[0-9]+:[0-9]+\s*"),
    ("day", "second"): re.compile(r"\s*[+-]?[0-9]+ +[0-9]+:[0-9]+:[0-9.]+\s*"),
    ("hour", "minute"): re.compile(r"\s*[+-]?[0-9]+:[0-9]+\s*"),
    ("hour", "second"): re.compile(r"\s*[+-]?[0-9]+:[0-9]+:[0-9.]+\s*"),
}


def hex_constant(node: exp.Expr) -> Literal:
    """Return x'AB', a BLOB."""
    digits = node.name
    if len(digits) % 2:
        raise DataError(f"x'{digits}' has an odd number of hexadecimal digits")
    return Literal(bytes.fromhex(digits), pa.binary())


def escaped_string(node: exp.Expr) -> Literal:
    """Return e'...', whose escapes the parser has read."""
    return Literal(node.name, pa.string())


def joined_string(node: exp.Expr) -> Literal:
    """Return a string constant that is written in several parts."""
    for part in node.expressions:
        if not (isinstance(part, exp.Literal) and part.is_string):
            raise unsupported(part)
    return Literal("".join(part.name for part in node.expressions), pa.string())


def interval_constant(node: exp.Interval) -> Literal:
    """Return INTERVAL '1 year 2 months', INTERVAL '1' DAY or INTERVAL '1-2' YEAR TO MONTH."""
    text = node.this.name
    span = node.args.get("unit")
    if span is None:
        return read_string(Literal(text, pa.string()), INTERVAL)
    if isinstance(span, exp.IntervalSpan):
        return _between_units(text, span)
    unit = interval_unit(node)
    if not _NUMBER.fullmatch(text):
        raise DataError(f"'{text}' is not a number of {unit}s")
    return read_string(Literal(f"{text} {unit}", pa.string()), INTERVAL)


def _between_units(text: str, span: exp.IntervalSpan) -> Literal:
    units = (span.this.name.lower(), span.expression.name.lower())
    pattern = _SPANS.get(units)
    if pattern is None:
        names = " TO ".join(units).upper()
        raise NotSupportedError(f"INTERVAL ... {names} is not supported")
    if not pattern.fullmatch(text):
        raise DataError(f"'{text}' is not an interval from {units[0]} to {units[1]}")
    return read_string(Literal(text, pa.string()), INTERVAL)


def interval_unit(node: exp.Interval) -> str:
    """Return the unit of INTERVAL x DAY."""
    unit = node.args.get("unit")
    if not isinstance(unit, exp.Var):
        raise NotSupportedError("INTERVAL of an expression takes one unit, as in INTERVAL (x) DAY")
    name = unit_name(unit.name)
    assert name is not None, "the parser takes units only"
    return name
