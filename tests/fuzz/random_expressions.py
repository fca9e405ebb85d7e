"""Random typed expressions, as SQL text whose meaning RayDB and DuckDB share.

Numbers carry a bound, so that no arithmetic overflows: what an overflow does differs between
engines. No division by zero for the same reason. Doubles are computed only by operations that IEEE
754 rounds correctly, so that they are the same in every engine to the last digit.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from query_features import FEATURES, OFF
from random_tables import DAYS, TEXTS, Column, Table, typed_literal
from stars import literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

KINDS = ("integer", "integer", "integer", "text", "double", "decimal", "date", "boolean")
TYPES = {"integer": "INTEGER", "double": "DOUBLE", "decimal": "DECIMAL(12, 2)"}
TYPES |= {"text": "VARCHAR", "date": "DATE", "boolean": "BOOLEAN"}


@dataclass(frozen=True, slots=True)
class Value:
    """An expression: its SQL, its kind, and a bound of its absolute value (0: no arithmetic)."""

    sql: str
    kind: str
    bound: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that an expression may use: those of its own query, and those around it."""

    columns: tuple[Value, ...]
    outer: tuple[Value, ...] = ()


Maker: TypeAlias = "Callable[[Writer, Scope, int], str | None]"


@dataclass(slots=True)
class Writer:
    """What writing one query needs; `used` collects the names of the features that it uses."""

    rng: Random
    tables: list[Table]
    banned: frozenset[str] = frozenset()
    used: set[str] = field(default_factory=set)
    # Makers of predicates and values that contain queries, which random_queries adds.
    predicate_queries: tuple[Maker, ...] = ()
    value_query: Callable[[Writer, Scope, str, int], Value | None] | None = None
    names: itertools.count[int] = field(default_factory=itertools.count)

    def takes(self, feature: str, chance: float = 1.0) -> bool:
        """Draw whether to use a feature, and note it."""
        assert feature in FEATURES, feature
        if feature in OFF | self.banned or self.rng.random() >= chance:
            return False
        self.used.add(feature)
        return True

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds to choose from."""
        return tuple(kind for kind in KINDS if kind not in self.banned)

    def name(self, stem: str) -> str:
        """Return a name that is new in this query."""
        return f"{stem}{next(self.names)}"

    def without_queries(self) -> Writer:
        """Return a writer of the same query that writes no subqueries."""
        return replace(self, predicate_queries=(), value_query=None)


def column_value(column: Column, qualifier: str) -> Value:
    return Value(f"{qualifier}.{column.name}", column.kind, column.bound)


def expression(w: Writer, scope: Scope, kind: str, depth: int = 2) -> Value:
    """Return an expression of a kind."""
    if depth <= 0 or w.rng.random() < 0.35:
        return leaf(w, scope, kind)
    if w.rng.random() < 0.3:
        return any_kind(w, scope, kind, depth)
    match kind:
        case "integer":
            return integer(w, scope, depth)
        case "double":
            return double(w, scope, depth)
        case "decimal":
            return decimal(w, scope, depth)
        case "text":
            return text(w, scope, depth)
        case "date":
            return date(w, scope, depth)
        case _:
            return Value(f"({predicate(w, scope, depth)})", "boolean")


def leaf(w: Writer, scope: Scope, kind: str) -> Value:
    """Return a column, mostly, or a constant."""
    columns = [column for column in scope.columns if column.kind == kind]
    outer = [column for column in scope.outer if column.kind == kind]
    if outer and (not columns or w.rng.random() < 0.3):
        columns = outer
    if columns and w.rng.random() < 0.8:
        column = w.rng.choice(columns)
        if kind == "decimal":
            w.used.add("decimal")
        return column
    return constant(w, kind)


def constant(w: Writer, kind: str) -> Value:
    rng = w.rng
    if w.takes("null literal", 0.08):
        return Value(f"CAST(NULL AS {TYPES[kind]})", kind, 1)
    match kind:
        case "integer":
            number = rng.choice((0, 1, 2, 3, 5, 7, 12, 40, 299))
            sign = rng.choice(("", "", "-"))
            return Value(f"{sign}{number}", kind, max(number, 1))
        case "double":
            return Value(typed_literal("DOUBLE", rng.choice((0.5, 1.25, 2.5, 100.0))), kind, 100)
        case "decimal":
            w.used.add("decimal")
            return Value(rng.choice(("0.05", "1.50", "3.5", "12.25", "99.99")), kind, 100)
        case "date":
            return Value(literal(rng.choice(DAYS)), kind, 1)
        case "text":
            return Value(literal(rng.choice(TEXTS)), kind)
        case _:
            return Value(rng.choice(("TRUE", "FALSE")), kind)


def operand(w: Writer, scope: Scope, kind: str, depth: int) -> Value:
    """Return an expression that is safe to compute with."""
    found = expression(w, scope, kind, depth)
    return found if 0 < found.bound <= 10**6 else constant(w, kind)


def any_kind(w: Writer, scope: Scope, kind: str, depth: int) -> Value:
    """Return what exists for every kind: CASE, COALESCE, NULLIF, GREATEST, CAST, a subquery."""
    shape = w.rng.randrange(6)
    if shape == 0 and w.value_query is not None:
        return w.value_query(w, scope, kind, depth - 1) or leaf(w, scope, kind)
    left, right = expression(w, scope, kind, depth - 1), expression(w, scope, kind, depth - 1)
    bound = max(left.bound, right.bound) if left.bound and right.bound else 0
    if shape == 1 and w.takes("case"):
        condition = predicate(w, scope, depth - 1)
        otherwise = f" ELSE {right.sql}" if w.rng.random() < 0.7 else ""
        return Value(f"CASE WHEN {condition} THEN {left.sql}{otherwise} END", kind, bound)
    if shape == 2 and w.takes("case"):
        tested, first = leaf(w, scope, kind), constant(w, kind)
        sql = f"CASE {tested.sql} WHEN {first.sql} THEN {left.sql} ELSE {right.sql} END"
        return Value(sql, kind, bound)
    if shape == 3 and w.takes("coalesce"):
        return Value(f"COALESCE({left.sql}, {right.sql})", kind, bound)
    if shape == 4 and w.takes("nullif"):
        return Value(f"NULLIF({left.sql}, {right.sql})", kind, left.bound)
    if shape == 5 and kind != "boolean" and w.takes("greatest"):
        function = w.rng.choice(("GREATEST", "LEAST"))
        return Value(f"{function}({left.sql}, {right.sql})", kind, bound)
    return leaf(w, scope, kind)


def arithmetic(w: Writer, scope: Scope, kind: str, depth: int) -> Value:
    """Return a sum, difference, product, quotient or remainder."""
    left, right = operand(w, scope, kind, depth - 1), operand(w, scope, kind, depth - 1)
    if left.bound * right.bound <= 10**6 and w.rng.random() < 0.3:
        return Value(f"({left.sql} * {right.sql})", kind, left.bound * right.bound)
    if w.rng.random() < 0.3 and (kind == "double" or w.takes("integer division")):
        suffix = "e0" if kind == "double" else ""
        divisor = f"{w.rng.choice((2, 3, 4, 7, 10))}{suffix}"
        if w.rng.random() < 0.3 and w.takes("nullif"):
            divisor = f"NULLIF({right.sql}, 0{suffix})"
        sign = "/" if kind == "double" else w.rng.choice("/%")
        return Value(f"({left.sql} {sign} {divisor})", kind, 2 * left.bound)
    sign = w.rng.choice("+-")
    return Value(f"({left.sql} {sign} {right.sql})", kind, left.bound + right.bound)


def integer(w: Writer, scope: Scope, depth: int) -> Value:
    match w.rng.randrange(7):
        case 0 if w.takes("text function"):
            return Value(f"LENGTH({expression(w, scope, 'text', depth - 1).sql})", "integer", 200)
        case 1 if w.takes("date function"):
            part = w.rng.choice(("YEAR", "MONTH", "DAY", "QUARTER"))
            day = expression(w, scope, "date", depth - 1)
            return Value(f"EXTRACT({part} FROM {day.sql})", "integer", 9999)
        case 2 if w.takes("numeric function"):
            number = operand(w, scope, "integer", depth - 1)
            return Value(f"{w.rng.choice(('ABS', 'SIGN'))}({number.sql})", "integer", number.bound)
        case 3 if w.takes("cast"):
            truth = predicate(w, scope, depth - 1)
            return Value(f"CAST(({truth}) AS INTEGER)", "integer", 1)
        case 4 if w.takes("date arithmetic"):
            days = [operand(w, scope, "date", depth - 1).sql for _ in range(2)]
            return Value(f"({days[0]} - {days[1]})", "integer", 10**5)
        case 5:
            number = operand(w, scope, "integer", depth - 1)
            return Value(f"(- {number.sql})", "integer", number.bound)
        case _:
            return arithmetic(w, scope, "integer", depth)


def double(w: Writer, scope: Scope, depth: int) -> Value:
    match w.rng.randrange(5):
        case 0 if w.takes("cast"):
            number = operand(w, scope, "integer", depth - 1)
            return Value(f"CAST({number.sql} AS DOUBLE)", "double", number.bound)
        case 1 if w.takes("numeric function"):
            number = operand(w, scope, "double", depth - 1)
            return Value(f"ABS({number.sql})", "double", number.bound)
        case 3 if w.takes("math function", 0.5):
            number = operand(w, scope, "double", depth - 1)
            function = w.rng.choice(("FLOOR({})", "CEIL({})", "SQRT(ABS({}))"))
            return Value(function.format(number.sql), "double", number.bound + 1)
        case 2 if w.takes("mixed numbers"):
            left, right = (operand(w, scope, kind, 0) for kind in ("integer", "double"))
            return Value(f"({left.sql} + {right.sql})", "double", left.bound + right.bound)
        case _:
            return arithmetic(w, scope, "double", depth)


def decimal(w: Writer, scope: Scope, depth: int) -> Value:
    """Return arithmetic on leaves only, since each operation adds digits to the type."""
    w.used.add("decimal")
    left, right = operand(w, scope, "decimal", 0), operand(w, scope, "decimal", 0)
    match w.rng.randrange(6):
        case 0:
            return Value(f"({left.sql} * {right.sql})", "decimal", 0)
        case 1 if w.takes("cast"):
            number = operand(w, scope, "integer", depth - 1)
            return Value(f"CAST({number.sql} AS DECIMAL(12, 2))", "decimal", number.bound)
        case 2 if w.takes("numeric function"):
            function = w.rng.choice(("ABS({})", "ROUND({}, 1)", "FLOOR({})", "CEIL({})"))
            return Value(function.format(left.sql), "decimal", left.bound + 1)
        case 3 if w.takes("mixed numbers"):
            number = operand(w, scope, "integer", 0)
            return Value(f"({left.sql} * {number.sql})", "decimal", 0)
        case _:
            sign = w.rng.choice("+-")
            return Value(f"({left.sql} {sign} {right.sql})", "decimal", left.bound + right.bound)


def text(w: Writer, scope: Scope, depth: int) -> Value:
    value = expression(w, scope, "text", depth - 1).sql
    match w.rng.randrange(8):
        case 0 | 1:
            other = expression(w, scope, "text", depth - 1).sql
            return Value(f"({value} || {other})", "text")
        case 2 if w.takes("cast"):
            number = operand(w, scope, "integer", depth - 1)
            return Value(f"CAST({number.sql} AS VARCHAR)", "text")
        case 3 if w.takes("unicode case"):
            return Value(f"{w.rng.choice(('UPPER', 'LOWER'))}({value})", "text")
        case _ if w.takes("text function"):
            shapes = (
                *("TRIM({})", "LTRIM({})", "RTRIM({})", "SUBSTRING({}, 2)", "SUBSTRING({}, 1, 2)"),
                *("SUBSTRING({}, 2, 0)", "REPLACE({}, 'a', 'xyz')", "REPLACE({}, 'b', '')"),
            )
            return Value(w.rng.choice(shapes).format(value), "text")
        case _:
            return leaf(w, scope, "text")


def date(w: Writer, scope: Scope, depth: int) -> Value:
    day = operand(w, scope, "date", depth - 1).sql
    if w.takes("interval", 0.4):
        unit = w.rng.choice(("DAY", "MONTH", "YEAR"))
        count, sign = w.rng.choice((1, 3, 13, 30)), w.rng.choice("+-")
        return Value(f"CAST({day} {sign} INTERVAL '{count}' {unit} AS DATE)", "date", 1)
    if w.takes("date arithmetic", 0.6):
        return Value(f"({day} {w.rng.choice('+-')} {w.rng.choice((0, 1, 31, 365))})", "date", 1)
    return leaf(w, scope, "date")


# Predicates


def predicate(w: Writer, scope: Scope, depth: int = 2) -> str:
    """Return a condition."""
    rng = w.rng
    if depth > 0 and rng.random() < 0.35:
        sides = [predicate(w, scope, depth - 1) for _ in range(2)]
        match rng.randrange(4):
            case 0:
                return f"NOT ({sides[0]})"
            case 1:
                return f"({sides[0]} OR {sides[1]})"
            case 2 if w.takes("is boolean"):
                no, truth = rng.choice(("", "NOT ")), rng.choice(("TRUE", "FALSE", "NULL"))
                return f"({sides[0]}) IS {no}{truth}"
            case _:
                return f"({sides[0]} AND {sides[1]})"
    if depth > 0 and w.predicate_queries and rng.random() < 0.3:
        found = rng.choice(w.predicate_queries)(w, scope, depth - 1)
        if found is not None:
            return found
    return comparison(w, scope, depth - 1)


def comparison(w: Writer, scope: Scope, depth: int) -> str:
    """Return a condition without AND, OR and NOT around it."""
    rng = w.rng
    present = [column.kind for column in (*scope.columns, *scope.outer)] or ["integer"]
    kind = rng.choice(present)
    left = expression(w, scope, kind, depth)
    no = rng.choice(("", "", "NOT "))
    match rng.randrange(12):
        case 0:
            return f"{left.sql} IS {no}NULL"
        case 1 if w.takes("in list"):
            items = [constant(w, kind).sql for _ in range(rng.randint(1, 4))]
            if w.takes("null literal", 0.2):
                items.append("NULL")
            return f"{left.sql} {no}IN ({', '.join(items)})"
        case 2 if w.takes("between"):
            bounds = [expression(w, scope, kind, depth - 1).sql for _ in range(2)]
            return f"{left.sql} {no}BETWEEN {bounds[0]} AND {bounds[1]}"
        case 3 if w.takes("is distinct from"):
            return f"{left.sql} IS {no}DISTINCT FROM {expression(w, scope, kind, depth).sql}"
        case 4 | 5 if kind == "text":
            return like(w, left, no)
        case 6 if kind == "boolean":
            return f"{no}{left.sql}"
        case 7 if w.takes("mixed numbers", 0.5):
            kinds = rng.sample(("integer", "double", "decimal"), 2)
            sides = [operand(w, scope, kind, 0).sql for kind in kinds]
            return f"{sides[0]} {compare(rng)} {sides[1]}"
        case 8 if w.takes("row value", 0.5):
            other = rng.choice(present)
            pairs = [f"({leaf(w, scope, kind).sql}, {leaf(w, scope, other).sql})" for _ in range(2)]
            return f"{pairs[0]} {rng.choice(('=', '<>'))} {pairs[1]}"
        case _:
            return f"{left.sql} {compare(rng)} {expression(w, scope, kind, depth).sql}"


def compare(rng: Random) -> str:
    return rng.choice(("=", "=", "<>", "<", "<=", ">", ">="))


def like(w: Writer, left: Value, no: str) -> str:
    patterns = ("a%", "%b%", "_", "a_", "%", "", "%a%b%", "é%", "%B", "__%", "ab")
    pattern = w.rng.choice(patterns)
    if w.takes("escape", 0.15):
        return f"{left.sql} {no}LIKE '{w.rng.choice(('a!%', '%!_%', '!!', 'x!_y'))}' ESCAPE '!'"
    if w.takes("ilike", 0.2):
        return f"{left.sql} {no}ILIKE '{pattern}'"
    if w.takes("like"):
        return f"{left.sql} {no}LIKE '{pattern}'"
    return f"{left.sql} IS NULL"
