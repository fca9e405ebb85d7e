"""UPDATE and DELETE: the numbers of the rows that match, and the rows as they will be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.nodes import Call, Column, Literal
from raydb.planner.plan.nodes import Filter, Plan, Project, Scan
from raydb.storage.tables.table import ROW_NUMBER

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.catalog import CatalogInfo

    Bind = Callable[..., Plan]


def test_update_gives_numbers_and_whole_rows(bind: Bind, catalog: CatalogInfo) -> None:
    plan = bind("UPDATE u SET y = $2, a = x + 1 WHERE x = $1", [7, "new"])
    assert isinstance(plan, Project)
    number, *columns = plan.columns
    assert (number.name, number.type) == (ROW_NUMBER, pa.int32())
    schema = catalog.tables["u"].definition.schema
    assert [(c.name, c.type) for c in columns] == [(f.name, f.type) for f in schema]
    _, (_, a), (x_column, x), (_, y) = plan.items
    assert isinstance(a, Call)
    assert x is x_column
    assert y == Literal("new", pa.string())
    assert isinstance(plan.source, Filter)
    assert isinstance(plan.source.source, Scan)


def test_an_assignment_sees_the_old_values(bind: Bind) -> None:
    plan = bind("UPDATE u SET a = x, x = a")
    assert isinstance(plan, Project)
    scanned = {column.name: column for column in plan.source.columns}
    _, (_, a), (_, x), _ = plan.items
    assert (a, x) == (scanned["x"], scanned["a"])


def test_delete_gives_numbers(bind: Bind) -> None:
    for text in ("DELETE FROM u", "DELETE FROM u AS v WHERE v.a > 1 OR y IS NULL"):
        (number,) = bind(text).columns
        assert number.name == ROW_NUMBER


def test_from_and_returning(bind: Bind) -> None:
    plan = bind("UPDATE u SET a = t.b FROM t, w WHERE u.x = t.a AND z = 1 RETURNING u.a, t.a, z")
    number, *columns = plan.columns
    assert number.name == ROW_NUMBER
    assert [column.name for column in columns] == ["a", "x", "y", "a", "a", "z"]
    plan = bind("DELETE FROM u USING t JOIN w ON t.a = z WHERE u.a = z RETURNING *")
    assert len(plan.columns) == 1 + 3 + 12 + 2


def test_a_quoted_column(bind: Bind) -> None:
    plan = bind('UPDATE w SET "Odd Name" = z')
    assert isinstance(plan, Project)
    assert isinstance(plan.items[2][1], Column)


def test_the_row_number_has_no_name_in_sql(bind: Bind) -> None:
    with pytest.raises(ProgrammingError, match="column 'row number' does not exist in 'u'"):
        bind('DELETE FROM u WHERE "row number" = 1')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("UPDATE u SET z = 1", "column 'z' does not exist in 'u'"),
        ("UPDATE u SET a = z", "column 'z' does not exist in 'u'"),
        ("UPDATE u AS v SET a = u.x", "did you mean its alias 'v'?"),
        ("UPDATE u SET a > 1", "SET needs column = value, not a > 1"),
        ("UPDATE u SET a = y", "column 'a' has the type INTEGER, but its value is 'y' (VARCHAR)"),
        ("DELETE FROM sums", "'sums' is a view, not a table"),
        ("DELETE FROM tt", "table 'tt' does not exist"),
        ("DELETE FROM u WHERE a = ?", "the statement has 1 parameter, but 0 values were given"),
    ],
)
def test_mistakes_are_named(bind: Bind, text: str, message: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        bind(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("UPDATE u SET a = 1 LIMIT 1", "LIMIT"),
        ("UPDATE u AS v (b, c) SET a = 1", "COLUMNS"),
        ("UPDATE u SET a[1] = 2", "a subscript [...]"),
    ],
)
def test_what_is_not_supported_is_named(bind: Bind, text: str, construct: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        bind(text)
    assert caught.value.sentence == f"{construct} is not supported"
