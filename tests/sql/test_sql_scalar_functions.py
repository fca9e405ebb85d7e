"""Scalar functions over nasty values, with constants and columns as arguments, against DuckDB.

The list holds what DuckDB and PostgreSQL agree on; where they differ the golden files tell.
"""

from __future__ import annotations

import math
from decimal import Decimal

import duckdb
import pytest

import raydb

TEXTS = [
    None,
    "",
    "a",
    "abc",
    "aXbXc",
    "  padded  ",
    "日本語",
    "été à Oslo",
    "x.y*z",
    "100%_\\",
    "two\nlines",
    "ABC abc 42nd",
    "a,b,,c,",
    "🙂🙂x",
]
PARTS = [None, "", "a", "X", ",", "b", "日", "abc", "🙂", "%", ".", "la", " ", "zz"]
NUMBERS = [None, 0, 1, 2, 3, 5, 7, -1, -2, -7, 12, 40, 2, 1]
DOUBLES = [None, 0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 1e-7, 3.999, 1e6, -2.75, 100.25, math.pi, 0.1]
MONEY = ["0.00", "1.00", "-1.05", "2.45", "2.55", "-2.45", "999.99", "-999.99", "0.01", "10.50"]

TEXT_FUNCTIONS = [
    "length(s)",
    "char_length(s)",
    "strlen(s)",
    "bit_length(s)",
    "lower(s)",
    "upper(s)",
    "trim(s)",
    "ltrim(s)",
    "rtrim(s)",
    "trim(s, 'a ')",
    "ltrim(s, p)",
    "rtrim(s, p)",
    "trim(BOTH 'a' FROM s)",
    "trim(LEADING 'a' FROM s)",
    "trim(TRAILING 'c' FROM s)",
    "left(s, 2)",
    "left(s, -2)",
    "left(s, n)",
    "right(s, 2)",
    "right(s, -2)",
    "right(s, n)",
    "substring(s, 2)",
    "substring(s FROM 2 FOR 3)",
    "position('b' IN s)",
    "strpos(s, p)",
    "instr(s, 'c')",
    "replace(s, 'X', '--')",
    "replace(s, p, '')",
    "replace(s, p, s)",
    "translate(s, 'abcX', '12')",
    "reverse(s)",
    "repeat(s, 3)",
    "repeat(s, n)",
    "lpad(s, 6, '*')",
    "rpad(s, 6, 'ab')",
    "lpad(s, abs(n), 'xyz')",
    "rpad('q', abs(n), '🙂')",
    "concat(s, '-', p)",
    "concat_ws(', ', s, p, NULL, 'z')",
    "concat_ws(p, s, 'z')",
    "s || p",
    "split_part(s, ',', 2)",
    "split_part(s, 'X', -1)",
    "split_part(s, 'X', n + 100)",
    "starts_with(s, p)",
    "prefix(s, 'a')",
    "ends_with(s, p)",
    "suffix(s, 'c')",
    "contains(s, p)",
    "contains(s, 'X')",
    "ord(s)",
    "chr(abs(n) + 65)",
    "md5(s)",
    "levenshtein('kitten', lower(left(md5(s), 4)))",
    "s LIKE '%b%'",
    "s NOT LIKE 'a%'",
    "s LIKE '_'",
    "s LIKE '%!%!_%' ESCAPE '!'",
    "s LIKE p",
    "s LIKE p || '%'",
    "s ILIKE 'ABC%'",
    "s ILIKE '%É%'",
    "regexp_matches(s, '[a-c]+')",
    "regexp_matches(s, 'ABC', 'i')",
    "regexp_full_match(s, '[a-c]+')",
    "regexp_replace(s, '[a-c]', '<>')",
    "regexp_replace(s, '([a-c])', '<\\1\\1>', 'g')",
    "regexp_replace(s, 'A', '', 'gi')",
    "regexp_extract(s, '[a-c]+')",
    "regexp_extract(s, '([a-c])([X,])', 2)",
    "s SIMILAR TO 'a(b|X)+c'",
]
NUMBER_FUNCTIONS = [
    "abs(n)",
    "abs(x)",
    "abs(m)",
    "sign(n)",
    "sign(x)",
    "sign(m)",
    "ceil(x)",
    "floor(x)",
    "ceiling(m)",
    "floor(m)",
    "round(x)",
    "round(x, 2)",
    "round(x, n)",
    "round(m)",
    "round(m, 1)",
    "round(n, -1)",
    "trunc(x)",
    "trunc(m)",
    "n % 3",
    "mod(n, 5)",
    "m % 0.3",
    "x % 0.3",
    "power(x, 2)",
    "pow(2, n)",
    "n ^ 2",
    "sqrt(abs(x))",
    "cbrt(x)",
    "exp(n)",
    "ln(abs(x) + 1)",
    "log(abs(x) + 1)",
    "log(2, abs(x) + 1)",
    "log2(abs(x) + 1)",
    "log10(abs(m) + 1)",
    "sin(x)",
    "cos(x)",
    "tan(x)",
    "cot(x + 1)",
    "asin(sin(x))",
    "acos(cos(x))",
    "atan(x)",
    "atan2(x, n)",
    "sinh(n)",
    "cosh(n)",
    "tanh(x)",
    "asinh(x)",
    "acosh(abs(x) + 1)",
    "atanh(x / 1e7)",
    "degrees(x)",
    "radians(x)",
    "pi()",
    "gcd(n, 12)",
    "lcm(n, 12)",
    "factorial(abs(n) % 20)",
    "n & 6",
    "n | 6",
    "xor(n, 6)",
    "~n",
    "abs(n) << 2",
    "n >> 1",
    "bit_count(n)",
    "greatest(n, 2, NULL)",
    "least(n, x, m)",
    "greatest(s, p)",
    "least(s, 'b')",
    "isnan(x)",
    "isinf(x / 3)",
    "isfinite(x)",
    "nullif(n, 1)",
    "coalesce(n, 99)",
    "ifnull(x, n)",
    "if(n > 1, 'many', 'few')",
    "typeof(n)",
    "add(n, x)",
    "subtract(m, n)",
    "multiply(m, 3)",
    "divide(n, 3)",
    "bar(x, -2, n, 7)",
    "bar(n, 0, 12, 3.5)",
    "bar(m, -10.5, 1000)",
    "md5_number_lower(s)",
    "md5_number_upper(s)",
]


@pytest.fixture(scope="module")
def databases():
    con, duck = raydb.connect(), duckdb.connect()
    columns = "s VARCHAR, p VARCHAR, n INTEGER, x DOUBLE, m DECIMAL(6, 2)"
    for database in (con, duck):
        database.execute(f"CREATE TABLE t (id INTEGER, {columns})")
        number = 0
        for offset in range(len(PARTS)):
            rows = []
            for place, text in enumerate(TEXTS):
                other = (place + offset) % len(PARTS)
                money = (None, *map(Decimal, MONEY))[(place * 5 + offset) % (len(MONEY) + 1)]
                row = (
                    text,
                    PARTS[other],
                    NUMBERS[other],
                    DOUBLES[(place * 3 + offset) % 14],
                    money,
                )
                rows.append((number, *row))
                number += 1
            database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
    con.execute(
        "CREATE TABLE one (s VARCHAR, p VARCHAR, n INTEGER, x DOUBLE, m DECIMAL(3, 2));"
        " INSERT INTO one VALUES ('aXb, c', 'X', 2, 2.5, 2.45)"
    )
    return con, duck


def close(one, other):
    if isinstance(one, float) and isinstance(other, (float, int, Decimal)):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-15) or one != one != other
    return one == other


@pytest.mark.parametrize("expression", TEXT_FUNCTIONS + NUMBER_FUNCTIONS)
def test_as_duckdb(databases, expression):
    con, duck = databases
    query = f"SELECT {expression}, id FROM t ORDER BY id"
    expected = duck.execute(query.replace("n ^ 2", "pow(n, 2)")).fetchall()
    for found, wanted in zip(con.execute(query).fetchall(), expected, strict=True):
        assert close(found[0], wanted[0]), (
            found,
            wanted,
            con.execute(f"SELECT * FROM t WHERE id = {wanted[1]}").fetchall(),
        )


@pytest.mark.parametrize("expression", TEXT_FUNCTIONS + NUMBER_FUNCTIONS)
def test_a_constant_has_the_value_of_a_column(databases, expression):
    """Folding constants gives what the same values give in a row."""
    con, _ = databases
    columns = "'aXb, c' AS s, 'X' AS p, 2 AS n, 2.5e0 AS x, 2.45 AS m"
    folded = con.execute(f"SELECT {expression} FROM (SELECT {columns}) AS t").fetchall()
    stored = con.execute(f"SELECT {expression} FROM one").fetchall()
    assert close(folded[0][0], stored[0][0])
