"""Values as DuckDB writes them, and whether one is what a test of DuckDB expects."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

INTEGERS = frozenset(
    sign + width
    for sign in ("", "U")
    for width in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
)
SPECIAL = re.compile(r"[\[\]{}(),:='\"]|^\s|\s$")


def rows_of(connection: Any, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the types of a result's columns, as they are written, and its rows.

    How many rows a change has changed is a row to DuckDB, and `rowcount` to PEP 249.
    """
    result = connection.execute(sql)
    if result.description is None:
        return ["BIGINT"], [(result.rowcount,)]
    kinds = [str(column[1]) for column in result.description]
    infinite = infinities_of(result.to_arrow_table())
    rows = result.fetchall()
    for place, row in infinite:
        values = list(rows[row])
        values[place] = "infinity" if values[place].year > 1 else "-infinity"
        rows[row] = tuple(values)
    return kinds, rows


def infinities_of(table: pa.Table) -> list[tuple[int, int]]:
    """Return the columns and rows of infinite dates, which Python's last dates stand for."""
    found = []
    for place, column in enumerate(table.columns):
        if pa.types.is_date32(column.type) or pa.types.is_timestamp(column.type):
            bits = column.type.bit_width
            numbers = column.cast(pa.int32() if bits == 32 else pa.int64())
            last = 2 ** (bits - 1) - 1
            is_last = pc.is_in(numbers, value_set=pa.array([last, -last], numbers.type))
            found += [(place, row) for row in pc.indices_nonzero(is_last).to_pylist()]
    return found


def duckdb_rows_of(connection: Any, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the same of DuckDB, which casts to VARCHAR itself what Python has no equal of."""
    relation = connection.sql(sql)
    if relation is None:
        return [], []
    kinds = [str(kind) for kind in relation.types]
    rows = relation.project("CAST(COLUMNS(*) AS VARCHAR)").fetchall()
    return kinds, [tuple(map(read_text, row, kinds)) for row in rows]


def read_text(text: str | None, kind: str) -> Any:
    """Return the number or truth value that a text means, or the text."""
    if text is None:
        return None
    if kind == "BOOLEAN":
        return text == "true"
    if kind in {"FLOAT", "DOUBLE"}:
        return float(text)
    if kind.startswith("DECIMAL(") and not kind.endswith("]"):
        return Decimal(text)
    return int(text) if kind in INTEGERS else text


def written(value: Any, kind: str) -> str:
    """Return a value as the text of a result."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value))
    return text_of(value, kind).replace("\0", "\\0") or "(empty)"


def text_of(value: Any, kind: str) -> str:
    """Return a value as CAST to VARCHAR gives it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return float_text(value)
        case Decimal():
            return f"{value:f}"
        case bytes():
            return "".join(
                chr(b) if 32 <= b < 127 and b not in b"\\'\"" else f"\\x{b:02X}" for b in value
            )
        case dt.datetime() | dt.time():
            return time_text(value)
        case dt.timedelta():
            return interval_text(0, *timedelta_parts(value))
        case dict():
            return dict_text(list(value.items()), kind)
        case list() if kind.startswith("MAP") and not kind.endswith("]"):
            return dict_text(value, kind)
        case tuple() if hasattr(value, "months"):
            return interval_text(value.months, value.days, value.nanoseconds)
        case tuple() if not kind.endswith("]"):
            items = [nested(v, "") for v in value]
            return f"({items[0]},)" if len(items) == 1 else "(" + ", ".join(items) + ")"
        case tuple() | list():
            inner = kind[: kind.rfind("[")] if kind.endswith("]") else ""
            return "[" + ", ".join(nested(v, inner) for v in value) + "]"
    return str(value)


def dict_text(items: list[tuple[Any, Any]], kind: str) -> str:
    """Return a map as `{key=value}`, a struct as `{'name': value}`."""
    kinds = inner_kinds(kind)
    if kind.startswith("MAP"):
        key, item = kinds if len(kinds) == 2 else ("", "")
        return "{" + ", ".join(f"{nested(k, key)}={nested(v, item)}" for k, v in items) + "}"
    own = [part.partition(" ")[2] for part in kinds]
    own = own if len(own) == len(items) else [""] * len(items)
    parts = zip(items, own, strict=True)
    return "{" + ", ".join(f"'{quoted(k)}': {nested(v, part)}" for (k, v), part in parts) + "}"


def inner_kinds(kind: str) -> list[str]:
    """Return what stands between the parentheses of a type, parted at its commas."""
    depth, start, parts = 0, 0, []
    for i, character in enumerate(kind):
        depth += (character == "(") - (character == ")")
        if depth == 1 and character == "(":
            start = i + 1
        elif (depth == 1 and character == ",") or (depth == 0 and character == ")"):
            parts.append(kind[start:i].strip())
            start = i + 1
    return parts


def nested(value: Any, kind: str) -> str:
    """Return a value in a list, a map or a struct, where text that may mislead is quoted."""
    text = text_of(value, kind)
    if isinstance(value, list | dict | tuple | type(None)):
        return text
    is_empty = isinstance(value, str) and (not text or text.upper() == "NULL")
    return f"'{quoted(text)}'" if is_empty or SPECIAL.search(text) else text


def quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def float_text(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return str(value)
    return repr(value)


def time_text(value: dt.datetime | dt.time) -> str:
    text = str(value)
    head, dot, rest = text.partition(".")
    fraction = re.match(r"\d+", rest)
    if dot and fraction:
        zone = rest[fraction.end() :]
        text = f"{head}.{fraction[0].rstrip('0')}{zone}"
    return re.sub(r"([+-]\d\d):00$", r"\1", text)


def timedelta_parts(value: dt.timedelta) -> tuple[int, int]:
    """Return the days and the nanoseconds of a duration, both of its sign."""
    micros = abs(value) // dt.timedelta(microseconds=1)
    sign = -1 if value < dt.timedelta(0) else 1
    days, rest = divmod(micros, 24 * 3600 * 10**6)
    return sign * days, sign * rest * 1000


def interval_text(months: int, days: int, nanoseconds: int) -> str:
    """Return an interval as `1 year 2 months 3 days 04:05:06.7`."""
    parts = []
    years, months = divmod(abs(months), 12) if months >= 0 else (-x for x in divmod(-months, 12))
    for count, unit in ((years, "year"), (months, "month"), (days, "day")):
        if count:
            parts.append(f"{count} {unit}{'' if abs(count) == 1 else 's'}")
    micros = abs(nanoseconds) // 1000
    if micros or not parts:
        seconds, micros = divmod(micros, 10**6)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        clock += f".{micros:06}".rstrip("0") if micros else ""
        parts.append(("-" if nanoseconds < 0 else "") + clock)
    return " ".join(parts)


def is_same(text: str, value: Any, expected: str) -> bool:
    """Whether a value is what a test expects: its text, a pattern, or the number that it means."""
    if text == expected:
        return True
    if expected.startswith(("<REGEX>:", "<!REGEX>:")):
        wanted, _, pattern = expected.partition(":")
        return bool(re.fullmatch(pattern, text, re.DOTALL)) == (wanted == "<REGEX>")
    if isinstance(value, bool):
        return expected.lower() in ({"true", "1"} if value else {"false", "0"})
    if not isinstance(value, int | float | Decimal):
        return False
    try:
        number = Decimal(expected)
    except InvalidOperation:
        return False
    if isinstance(value, float):
        close = abs(value - float(number)) <= abs(float(number)) * 0.01 + 1e-8
        return close or value == float(number) or (math.isnan(value) and number.is_nan())
    if not number.is_finite():
        return False
    places = -int(value.as_tuple().exponent) if isinstance(value, Decimal) else 0
    return abs(Decimal(value) - number) * 2 <= Decimal(1).scaleb(-places)
