"""INSERT: rows in the order and the types of the table."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.planner.expressions.nodes import Call, Literal
from raydb.planner.plan.nodes import Plan, Project, Values

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.catalog import CatalogInfo

    Bind = Callable[..., Plan]


def test_values_in_the_order_of_the_table(bind: Bind, catalog: CatalogInfo) -> None:
    plan = bind(
        "INSERT INTO t (d, e, a, c) VALUES ('1992-01-01', 1.5, '7', ' x '), (?, ?, ?, ?)",
        [None, 2, 3, "y"],
    )
    assert isinstance(plan, Values)
    schema = catalog.tables["t"].definition.schema
    assert [(c.name, c.type) for c in plan.columns] == [(f.name, f.type) for f in schema]
    first, second = ([cell.value for cell in row[:6]] for row in plan.rows)
    assert first == [7, None, " x ", dt.date(1992, 1, 1), Decimal("1.5"), None]
    assert second == [3, None, "y", None, Decimal(2), None]
    for row in plan.rows:
        assert [cell.type for cell in row] == list(schema.types)


def test_values_that_need_a_cast(bind: Bind) -> None:
    plan = bind("INSERT INTO u (y, a) VALUES (5, 1.5), ('x' || 'y', 1 + 1)")
    casts = [cell for row in plan.rows for cell in row if isinstance(cell, Call)]
    assert [cell.function for cell in casts] == ["cast", "cast", "add", "concat"]


def test_rows_of_a_query(bind: Bind, catalog: CatalogInfo) -> None:
    plan = bind("INSERT INTO t (d, h, a, e) SELECT '1992-01-01', NULL, b, a FROM t")
    assert isinstance(plan, Project)
    schema = catalog.tables["t"].definition.schema
    assert [column.type for column in plan.columns] == list(schema.types)
    values = {column.name: expression for column, expression in plan.items}
    assert values["d"] == Literal(dt.date(1992, 1, 1), schema.field("d").type)
    assert values["h"] == Literal(None, schema.field("h").type)
    assert values["a"].function == values["e"].function == "cast"
    assert values["c"] == Literal(None, schema.field("c").type)
    sorted_values = bind("INSERT INTO w (z) VALUES (2), (1) ORDER BY 1 LIMIT 1")
    assert isinstance(sorted_values, Project)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO uu VALUES (1)", "table 'uu' does not exist; did you mean 'u'?"),
        ("INSERT INTO sums VALUES (1)", "'sums' is a view, not a table"),
        (
            "INSERT INTO u (a, xx) VALUES (1, 2)",
            "column 'xx' does not exist in 'u'; did you mean 'x'?",
        ),
        ("INSERT INTO u (a, a) VALUES (1, 2)", "column 'a' is named twice in INSERT"),
        (
            "INSERT INTO u VALUES (1, 2, 'x'), (1, 2)",
            "row 2 of VALUES has 2 values, but INSERT INTO 'u' needs 3;"
            " there is none for column 'y'",
        ),
        (
            "INSERT INTO u VALUES (1, 2, 'x', 4)",
            "row 1 of VALUES has 4 values, but INSERT INTO 'u' needs 3; 'y' is the last column",
        ),
        (
            "INSERT INTO u SELECT a FROM t",
            "the query has 1 columns, but INSERT INTO 'u' needs 3; there is none for column 'x'",
        ),
        ("INSERT INTO u (x) VALUES ('abc')", "column 'x': 'abc' is not a valid INTEGER"),
        ("INSERT INTO t (d) VALUES ('1992-02-30')", "column 'd': '1992-02-30' is not a valid DATE"),
        (
            "INSERT INTO u (x) VALUES (TRUE)",
            "column 'x' has the type INTEGER, but its value is True (BOOLEAN)",
        ),
        (
            "INSERT INTO u (x) SELECT c FROM t",
            "column 'x' has the type INTEGER, but its value is 'c' (VARCHAR)",
        ),
        ("INSERT INTO u (x) VALUES (a)", "column 'a' does not exist"),
        ("INSERT INTO u (x) VALUES (count(*))", "VALUES cannot contain the aggregate count"),
        ("INSERT INTO u (x) VALUES (?)", "the statement has 1 parameter, but 0 values were given"),
    ],
)
def test_wrong_inserts(bind: Bind, text: str, message: str) -> None:
    # A constant that cannot be read is bad data; everything else is a bad statement.
    is_value = "is not a valid" in message or "out of the range" in message
    with pytest.raises(DataError if is_value else ProgrammingError) as caught:
        bind(text)
    assert caught.value.sentence == message


def test_defaults(bind: Bind, make_catalog: Callable[[str], CatalogInfo]) -> None:
    within = make_catalog(
        "CREATE TABLE t (a INTEGER, b BIGINT DEFAULT 1 + 2, c VARCHAR DEFAULT 'x')"
    )
    plan = bind("INSERT INTO t (c, a) VALUES (DEFAULT, 1), ('y', DEFAULT)", (), within)
    assert isinstance(plan, Values)
    (a, b, c), (other_a, _, other_c) = plan.rows
    assert (a, c) == (Literal(1, pa.int32()), Literal("x", pa.string()))
    assert isinstance(b, Call)
    assert (other_a, other_c) == (Literal(None, pa.int32()), Literal("y", pa.string()))


def test_returning_follows_the_columns(bind: Bind) -> None:
    plan = bind("INSERT INTO u AS v VALUES (1, 2, 'x') RETURNING v.*, a + x AS s")
    names = [column.name for column in plan.columns]
    assert names == ["a", "x", "y", "a", "x", "y", "s"]


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("INSERT INTO u VALUES (1, 2, 'x') AS v", "ALIAS"),
        ("INSERT OVERWRITE u SELECT 1", "OVERWRITE"),
        ("INSERT INTO u (a) VALUE (1)", "unexpected"),
    ],
)
def test_what_is_not_supported_is_named(bind: Bind, text: str, construct: str) -> None:
    with pytest.raises((NotSupportedError, ProgrammingError), match=construct):
        bind(text)
