"""Random tables of the types beyond numbers and text, whose values are written as SQL.

    a (id, c0, c1, ...)   b (id, c0, c1, ...)

Both have the same columns, so that they can be joined and put together by each. The values of a
type are few, so that many are equal, with NULL within them and at the ends of what the type holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

MOODS = ("sad", "ok", "happy")


@dataclass(frozen=True, slots=True)
class Kind:
    """A type: its name in SQL, values, and expressions of a column `{}` of it.

    is_ordered: whether its values can be compared by `<`. told: what is compared of `{}`, where the
    engines do not give the same value to Python.
    """

    type: str
    values: tuple[str, ...]
    expressions: tuple[str, ...] = ()
    is_ordered: bool = True
    told: str = "{}"


_TEXT = "({})::VARCHAR"
_INTERVAL = "[date_part('month', {}), date_part('year', {}), date_part('day', {}), epoch({})]"


def _texts(*values: str) -> tuple[str, ...]:
    return tuple(f"'{value}'" for value in values)


_NESTED = ("{} = {}", "{}::VARCHAR", "[{}]", "{{'x': {}}}")
_LISTS = ("len({})", "{}[1]", "{}[-1]", "{}[2:]", "list_reverse({})")
_PARTS = (
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "dow",
    "isodow",
)
_MOMENTS = (
    *(f"date_part('{part}', {{}})" for part in _PARTS),
    *(f"date_trunc('{part}', {{}})::VARCHAR" for part in ("year", "month", "week", "day")),
    *("{} + INTERVAL 1 DAY", "{} - INTERVAL '1 month'", "{}::DATE", "{}::VARCHAR"),
)
_WHOLE = (
    "{} + 1",
    "{} // 2",
    "{} % 3",
    "{}::DOUBLE",
    "{}::VARCHAR",
    "{} / 2 > 1",
    "-({}::HUGEINT)",
)

KINDS = {
    "struct": Kind(
        "STRUCT(a INTEGER, b VARCHAR)",
        (
            *(
                "{'a': 1, 'b': 'x'}",
                "{'a': 1, 'b': 'y'}",
                "{'a': 1, 'b': NULL}",
                "{'a': -5, 'b': ''}",
            ),
            *("{'a': NULL, 'b': 'x'}", "{'a': NULL, 'b': NULL}"),
        ),
        ("{}.a", "{}.b", "{}.a + 1", "upper({}.b)", "struct_extract({}, 'a')", *_NESTED),
    ),
    "deep": Kind(
        "STRUCT(p STRUCT(q INTEGER), l INTEGER[])",
        (
            *(
                "{'p': {'q': 1}, 'l': [1, 2]}",
                "{'p': {'q': 1}, 'l': []}",
                "{'p': NULL, 'l': [NULL]}",
            ),
            *("{'p': {'q': NULL}, 'l': NULL}", "{'p': {'q': 2}, 'l': [1]}"),
        ),
        ("{}.p.q", "{}.l[1]", "len({}.l)", "{}.p", "{}.l", *_NESTED),
    ),
    "list": Kind(
        "INTEGER[]",
        ("[]", "[1]", "[1, 2]", "[1, NULL]", "[NULL]", "[2, 1]", "[1, 2, 3]", "[-7]"),
        (
            *_LISTS,
            *("list_sort({})", "list_sum({})", "list_max({})", "list_distinct({}) IS NULL"),
            *("list_contains({}, 1)", "list_position({}, 2)", "list_concat({}, [9])"),
            *("list_transform({}, lambda x: x + 1)", "list_filter({}, lambda x: x > 1)", *_NESTED),
            *("[x * 2 FOR x IN {}]", "list_slice({}, 1, 2)"),
        ),
    ),
    "texts": Kind(
        "VARCHAR[]",
        ("[]", "['a']", "['a', 'b']", "['b', NULL]", "['']", "['ab']", "['é', 'a']"),
        (*_LISTS, "list_sort({})", "list_contains({}, 'a')", "list_count({})", *_NESTED),
    ),
    "lists": Kind(
        "INTEGER[][]",
        ("[]", "[[]]", "[[1], [2]]", "[[1, 2]]", "[NULL]", "[[NULL], []]", "[[1], [2], NULL]"),
        ("len({})", "{}[1]", "{}[1][1]", "flatten({})", "list_contains({}, [1])", *_NESTED),
    ),
    "structs": Kind(
        "STRUCT(a INTEGER)[]",
        ("[]", "[{'a': 1}]", "[{'a': 1}, {'a': NULL}]", "[NULL]", "[{'a': 2}]"),
        ("len({})", "{}[1].a", "list_transform({}, lambda s: s.a)", *_NESTED),
    ),
    "array": Kind(
        "INTEGER[2]",
        ("[1, 2]", "[1, 3]", "[1, NULL]", "[NULL, NULL]", "[-1, 0]"),
        ("{}[1]", "{}[2]", "len({})", "{}::INTEGER[]", "list_sum({})", *_NESTED),
    ),
    "map": Kind(
        "MAP(VARCHAR, INTEGER)",
        ("MAP {}", "MAP {'a': 1}", "MAP {'a': 1, 'b': 2}", "MAP {'b': NULL}", "MAP {'a': 2}"),
        (
            *("{}['a']", "{}['none']", "map_keys({})", "map_values({})", "cardinality({})"),
            *("map_contains({}, 'a')", "map_entries({})", "element_at({}, 'b')", "{}::VARCHAR"),
        ),
        is_ordered=False,
    ),
    "enum": Kind(
        "mood",
        _texts(*MOODS),
        ("{}::VARCHAR", "enum_code({})", "length({})", "{} || '!'", "{} IN ('ok', 'sad')"),
    ),
    "uuid": Kind(
        "UUID",
        _texts(
            "00000000-0000-0000-0000-000000000000",
            "00000000-0000-0000-0000-0000000000ff",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ),
        ("{}::VARCHAR", "length({}::VARCHAR)", "{} > '0f000000-0000-0000-0000-000000000000'"),
    ),
    "json": Kind(
        "JSON",
        _texts('{"a":1}', '{"a":"x","b":[1,2]}', "[1,2]", "null", "7", '"s"', '{"a":null}'),
        (
            *("{} ->> 'a'", "{} -> 'a'", "{} -> '$.b[1]'", "json_type({})", "{} ->> '$.b[0]'"),
            *("json_array_length({})", "json_keys({})", "json_exists({}, '$.a')", "{}::VARCHAR"),
            *("json_extract_string({}, ['$.a', '$.b'])", "json_valid({})"),
        ),
        is_ordered=False,
    ),
    "utinyint": Kind(
        "UTINYINT", ("0", "1", "2", "127", "128", "255"), ("{}::INTEGER + 1", *_WHOLE[1:])
    ),
    "usmallint": Kind(
        "USMALLINT", ("0", "1", "2", "32768", "65535"), ("{}::INTEGER + 1", *_WHOLE[1:])
    ),
    "uinteger": Kind("UINTEGER", ("0", "1", "2", "2147483648", "4294967295"), _WHOLE[1:]),
    "ubigint": Kind(
        "UBIGINT",
        ("0", "1", "9223372036854775807", "9223372036854775808", "18446744073709551615"),
        _WHOLE[1:],
    ),
    "uhugeint": Kind(
        "UHUGEINT",
        ("0", "1", "7", "18446744073709551616", str(2**127), str(2**128 - 1)),
        ("{}::VARCHAR", "{} > 5", "{} IN (1, 7)", "{} // 2", "{} % 10", "{}::DOUBLE"),
    ),
    "hugeint": Kind(
        "HUGEINT",
        ("0", "-1", "7", "9223372036854775808", "-9223372036854775809", "9" * 37, "-" + "9" * 37),
        _WHOLE,
    ),
    "tinyint": Kind("TINYINT", ("-128", "-1", "0", "1", "127"), ("{}::INTEGER * 2", *_WHOLE[1:])),
    "timestamptz": Kind(
        "TIMESTAMPTZ",
        _texts(
            *("2024-01-01 00:00:00+00", "2024-01-01 02:00:00+02", "2024-03-31 01:59:59.999999+01"),
            *("2024-10-27 02:30:00+02", "1969-12-31 23:59:59.5+00", "2000-02-29 12:00:00-08"),
        ),
        (*_MOMENTS, "{} AT TIME ZONE 'Asia/Tokyo'", "{}::TIMESTAMP"),
    ),
    "timestamp_s": Kind(
        "TIMESTAMP_S",
        _texts(
            "2024-01-01 00:00:00",
            "1969-12-31 23:59:59",
            "2024-02-29 12:34:56",
            "2024-01-01 00:00:01",
        ),
        (
            "{}::TIMESTAMP",
            "{}::VARCHAR",
            "{}::DATE",
            "date_part('year', {})",
            "{}::TIMESTAMP_NS::VARCHAR",
        ),
    ),
    "timestamp_ms": Kind(
        "TIMESTAMP_MS",
        _texts(
            "2024-01-01 00:00:00.001",
            "1969-12-31 23:59:59.999",
            "2024-02-29 12:34:56",
            "2024-01-01",
        ),
        ("{}::TIMESTAMP", "{}::VARCHAR", "{}::DATE", "{}::TIMESTAMP_NS::VARCHAR"),
    ),
    "timestamp_ns": Kind(
        "TIMESTAMP_NS",
        _texts(
            *("2024-01-01 00:00:00.000001", "1969-12-31 23:59:59.999999001"),
            *("2024-02-29 12:34:56.500000001", "2024-01-01 00:00:00.000001001"),
        ),
        (
            *("{}::VARCHAR", "{}::DATE", "date_part('year', {})", "{}::TIMESTAMP::VARCHAR"),
            *("epoch_ns({})", "({} + INTERVAL '1 month')::VARCHAR", "{}::TIMESTAMP_MS::VARCHAR"),
        ),
        told=_TEXT,
    ),
    "bit": Kind(
        "BIT",
        _texts("0101", "0011", "1111", "0000", "1000"),
        (
            *("{}::VARCHAR", "bit_count({})", "({} & '0110'::BIT)::VARCHAR", "(~{})::VARCHAR"),
            *("({} << 1)::VARCHAR", "get_bit({}, 2)", "{} > '0100'::BIT", "bit_length({})"),
            *("xor({}, '1010'::BIT)::VARCHAR", "set_bit({}, 0, 1)::VARCHAR", "{}::INTEGER"),
        ),
        told=_TEXT,
    ),
    "timetz": Kind(
        "TIMETZ",
        _texts(
            *("10:00:00+02", "08:00:00+00", "09:00:00+01", "00:00:00-03:30"),
            *("23:59:59.999999+15:59:59", "12:34:56.789+00"),
        ),
        (
            *("{}::VARCHAR", "date_part('hour', {})", "date_part('timezone', {})", "{}::TIME"),
            *("({} + INTERVAL '90 minutes')::VARCHAR", "date_part('timezone_minute', {})"),
            "{} > '09:00:00+02'::TIMETZ",
        ),
        told=_TEXT,
    ),
    "time": Kind(
        "TIME",
        _texts("00:00:00", "12:34:56.789", "23:59:59.999999", "06:00:00"),
        (
            "{}::VARCHAR",
            "date_part('hour', {})",
            "date_part('minute', {})",
            "{} + INTERVAL 90 MINUTE",
        ),
    ),
    "interval": Kind(
        "INTERVAL",
        _texts(
            "1 day",
            "1 month",
            "-1 day",
            "1 year 2 months",
            "0 days",
            "1.5 seconds",
        ),
        ("date_part('day', {})", "{} + {} > {}", "{} * 2 = '2 days'::INTERVAL", "-{} < {}"),
        # Its text is PostgreSQL's in one, and in the other not.
        told=_INTERVAL,
    ),
    "date": Kind(
        "DATE",
        _texts(
            "infinity", "-infinity", "2024-02-29", "1970-01-01", "0044-03-15 (BC)", "12024-01-01"
        ),
        (
            "{}::VARCHAR",
            "isinf({})",
            "isfinite({})",
            "{} = 'infinity'",
            "({} + INTERVAL 1 DAY)::VARCHAR",
        ),
        told=_TEXT,
    ),
    "timestamp": Kind(
        "TIMESTAMP",
        _texts(
            "infinity", "-infinity", "2024-02-29 12:00:00.5", "1970-01-01", "12024-01-01 01:00:00"
        ),
        ("{}::VARCHAR", "isinf({})", "isfinite({})", "{}::DATE::VARCHAR"),
        told=_TEXT,
    ),
    "text": Kind(
        "VARCHAR",
        _texts("a", "A", "b", "B", "é", "E", "É", "", "ab", "Ab"),
        (
            *("{} COLLATE NOCASE = 'a'", "{} COLLATE NOACCENT = 'e'", "upper({})", "length({})"),
            *("{} COLLATE NOCASE IN ('a', 'B')", "strip_accents({})", "{} COLLATE NOCASE < 'b'"),
        ),
    ),
    "blob": Kind("BLOB", _texts("a", "", r"\x00\xFF", "ab"), ("octet_length({})", "hex({})")),
}

# Types that Parquet has not, or as others whose text is another.
NOT_IN_PARQUET = frozenset({"enum", "interval", "date", "timestamp"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column of both tables."""

    name: str
    kind: Kind


def random_columns(rng: Random, names: list[str]) -> list[Column]:
    """Return some columns of types of those names; a number and a text are always among them."""
    chosen = rng.sample(names, rng.randint(3, 5))
    return [Column(f"c{place}", KINDS[name]) for place, name in enumerate(chosen)]


def constant(rng: Random, kind: Kind) -> str:
    """Return a value of a type."""
    return f"CAST({rng.choice(kind.values)} AS {kind.type})"


def create(table: str, columns: list[Column]) -> str:
    """Return the definition of a table."""
    listed = ", ".join(f"{each.name} {each.kind.type}" for each in columns)
    return f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, n INTEGER, {listed})"


def random_insert(rng: Random, table: str, columns: list[Column]) -> str:
    """Return an INSERT of some rows."""
    shares = [rng.choice((0.0, 0.1, 0.1, 0.3, 1.0 if rng.random() < 0.1 else 0.2)) for _ in columns]
    rows = []
    for number in range(rng.choice((1, 5, 9, 14, 20))):
        values = [
            "NULL" if rng.random() < share else constant(rng, each.kind)
            for each, share in zip(columns, shares, strict=True)
        ]
        rows.append(f"({number}, {rng.randint(0, 3)}, {', '.join(values)})")
    return f"INSERT INTO {table} VALUES {', '.join(rows)}"
