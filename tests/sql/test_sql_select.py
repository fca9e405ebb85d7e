"""Queries: the shape of their plans, the names in scope, and the 13 SSB queries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from raydb import sql
from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.nodes import Call, Column, Literal, Subquery, columns_of
from raydb.planner.plan.nodes import (
    Aggregate,
    Filter,
    InnerJoin,
    Limit,
    OuterJoin,
    Plan,
    Project,
    Scan,
    Sort,
    Values,
)
from raydb.planner.plan.verify import verify_plan
from raydb.sql import ast

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.catalog import CatalogInfo

    Bind = Callable[..., Plan]

_QUERIES = (Path(__file__).parent / "data" / "ssb_queries.sql").read_text()
SSB = dict(re.findall(r"-- (q\d\.\d)\n(.*?);\n", _QUERIES, re.DOTALL))


def names(plan: Plan) -> list[str]:
    return [column.name for column in plan.columns]


def shape(plan: Plan) -> str:
    """Write the nodes of a plan: Limit(Sort(Project(Scan t)))."""
    if isinstance(plan, Scan):
        return f"Scan {plan.table}"
    return f"{type(plan).__name__}({', '.join(shape(each) for each in plan.sources)})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM t", "Project(Scan t)"),
        ("FROM t", "Project(Scan t)"),
        ("SELECT 1", "Project(Values())"),
        ("VALUES (1), (2)", "Values()"),
        ("VALUES (2), (1) ORDER BY 1 LIMIT 1", "Limit(Sort(Project(Values())))"),
        ("SELECT a FROM t WHERE a > 1", "Project(Filter(Scan t))"),
        ("SELECT t.a FROM t, u, w", "Project(InnerJoin(Scan t, Scan u, Scan w))"),
        (
            "SELECT t.a FROM t JOIN u ON t.a = u.a CROSS JOIN w",
            "Project(InnerJoin(Scan t, Scan u, Scan w))",
        ),
        ("SELECT t.a FROM t LEFT JOIN u ON t.a = u.a", "Project(OuterJoin(Scan t, Scan u))"),
        ("SELECT a FROM t GROUP BY a", "Project(Aggregate(Scan t))"),
        ("SELECT count(*) FROM t HAVING count(*) > 1", "Project(Filter(Aggregate(Scan t)))"),
        ("SELECT DISTINCT a FROM t", "Aggregate(Project(Scan t))"),
        ("SELECT a FROM t ORDER BY a LIMIT 1", "Limit(Sort(Project(Scan t)))"),
        ("SELECT a FROM t ORDER BY b", "Project(Sort(Project(Scan t)))"),
        ("SELECT DISTINCT a FROM t ORDER BY a", "Sort(Aggregate(Project(Scan t)))"),
        ("(SELECT a FROM t) LIMIT 1", "Limit(Project(Project(Scan t)))"),
        ("SELECT q.a FROM (SELECT a FROM t) q", "Project(Project(Scan t))"),
        ("SELECT u.x FROM (t JOIN u ON t.a = u.a)", "Project(InnerJoin(Scan t, Scan u))"),
        ("SELECT * FROM sums", "Project(CommonTable())"),
        ("WITH q AS (SELECT a FROM t) SELECT * FROM q", "Project(CommonTable())"),
        (
            "SELECT t.a FROM t, u RIGHT JOIN w ON x = z",
            "Project(InnerJoin(Scan t, OuterJoin(Scan u, Scan w)))",
        ),
    ],
)
def test_shapes(bind: Bind, text: str, expected: str) -> None:
    assert shape(bind(text)) == expected


def test_names_of_columns(bind: Bind) -> None:
    plan = bind(
        'SELECT a, t.B, (c), a + 1, SUM(a) AS "Sum", count(*), z.* FROM t, w z'
        ' GROUP BY 1, 2, 3, z, "Odd Name"'
    )
    expected = ["a", "b", "c", "a + 1", "Sum", "count(*)", "z", "Odd Name"]
    assert names(plan) == expected


def test_a_scan_has_all_columns_under_fresh_numbers(bind: Bind) -> None:
    plan = bind("SELECT p.a, q.a FROM u p, u q")
    assert isinstance(plan, Project)
    assert isinstance(plan.source, InnerJoin)
    columns = plan.source.columns
    assert [column.name for column in columns] == ["a", "x", "y"] * 2
    assert len({column.number for column in columns}) == 6


def test_a_query_with_a_name_has_columns_of_its_own_at_each_use(bind: Bind) -> None:
    plan = bind("WITH q (k) AS (SELECT a FROM t) SELECT * FROM q, q AS r (m), sums s, sums")
    assert names(plan) == ["k", "m", "a", "s", "a", "s"]
    numbers = [column.number for column in plan.source.columns]
    assert len(set(numbers)) == 6


def test_inner_join_conditions_are_flat(bind: Bind) -> None:
    plan = bind("SELECT x FROM t JOIN u ON t.a = u.a AND b > 1 JOIN w ON TRUE")
    assert isinstance(plan.source, InnerJoin)
    functions = [condition.function for condition in plan.source.conditions]
    assert functions == ["equal", "greater"]


@pytest.mark.parametrize(
    ("side", "kind"), [("LEFT", "left"), ("RIGHT OUTER", "right"), ("FULL", "full")]
)
def test_outer_joins(bind: Bind, side: str, kind: str) -> None:
    plan = bind(f"SELECT x FROM t {side} JOIN u ON t.a = u.a AND x > 1")
    join = plan.source
    assert isinstance(join, OuterJoin)
    assert (join.kind, len(join.conditions)) == (kind, 2)


def test_using_merges_columns(bind: Bind) -> None:
    plan = bind("SELECT * FROM w JOIN (SELECT a AS z, x FROM u) q USING (z)")
    assert names(plan) == ["z", "Odd Name", "x"]
    (_, left), *_ = bind("SELECT a FROM t LEFT JOIN u USING (a)").items
    right_plan = bind("SELECT a FROM t RIGHT JOIN u USING (a)")
    (_, right), *_ = right_plan.items
    (_, full), *_ = bind("SELECT a FROM t FULL JOIN u USING (a)").items
    assert left.number == 0
    assert right in right_plan.source.right.columns
    assert isinstance(full, Call)
    assert full.function == "coalesce"


def test_aggregates_appear_once_and_keys_are_replaced(bind: Bind) -> None:
    plan = bind(
        "SELECT a + 1 + 2, sum(b), sum(b) / count(*) FROM t GROUP BY a + 1"
        " HAVING sum(b) > 0 AND a + 1 > 5 ORDER BY max(c), sum(b)"
    )
    filtered = plan.source.source.source
    assert isinstance(filtered, Filter)
    aggregate = filtered.source
    assert isinstance(aggregate, Aggregate)
    assert [call.function for _, call in aggregate.aggregates] == ["sum", "count_star", "max"]
    ((key, expression),) = aggregate.keys
    assert expression.function == "add"
    assert columns_of(filtered.predicate) == {key, aggregate.aggregates[0][0]}
    first = plan.source.source.items[0][1]
    assert first.arguments == (key, Literal(2, pa.int32()))


def test_group_by_names_and_positions(bind: Bind) -> None:
    for text in ("GROUP BY k", "GROUP BY 1", "GROUP BY -a", "GROUP BY k, 1, -a"):
        plan = bind(f"SELECT -a AS k, count(*) FROM t {text}")
        assert len(plan.source.keys) == 1
    # A column of FROM hides the alias.
    plan = bind("SELECT count(*), -a AS b FROM t GROUP BY b, a")
    assert [expression.name for _, expression in plan.source.keys] == ["b", "a"]
    # A constant key stays a constant.
    plan = bind("SELECT 'x' AS k, count(*) FROM t GROUP BY k")
    assert plan.items[0][1] == Literal("x", pa.string())


def test_count_of_a_constant_counts_rows(bind: Bind) -> None:
    plan = bind("SELECT count(1), count(*), count(DISTINCT a), min(DISTINCT a) FROM t")
    calls = [(call.function, call.distinct) for _, call in plan.source.aggregates]
    assert calls == [("count_star", False), ("count", True), ("min", False)]


def test_order_by(bind: Bind) -> None:
    plan = bind("SELECT a AS b, c FROM t ORDER BY b DESC, 2 NULLS FIRST, -f DESC NULLS LAST")
    assert isinstance(plan, Project)
    assert names(plan) == ["b", "c"]
    assert isinstance(plan.source, Sort)
    keys = [(key.column.name, key.descending, key.nulls_first) for key in plan.source.keys]
    assert keys == [("b", True, True), ("c", False, True), ("order key", True, False)]


def test_limits(bind: Bind) -> None:
    assert bind("SELECT a FROM t LIMIT 5 OFFSET 2").offset == 2
    plan = bind("SELECT a FROM t LIMIT ALL OFFSET ?", [3])
    assert isinstance(plan, Limit)
    assert (plan.count, plan.offset) == (None, 3)


def test_values_have_common_types(bind: Bind) -> None:
    plan = bind("VALUES (1, 'a', NULL, '1992-01-01'), (2.5, NULL, NULL, DATE '1992-01-02')")
    assert isinstance(plan, Values)
    assert names(plan) == ["column1", "column2", "column3", "column4"]
    types = [column.type for column in plan.columns]
    assert types == [pa.decimal128(2, 1), pa.string(), pa.int32(), pa.date32()]
    renamed = bind("SELECT k FROM (VALUES (1, 2)) AS v (k, l) WHERE l = 2")
    assert names(renamed) == ["k"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT x FROM tt", "table 'tt' does not exist; did you mean 't'?"),
        ("SELECT * FROM sum", "table 'sum' does not exist; did you mean 'sums'?"),
        ("SELECT aa FROM t", "column 'aa' does not exist in 't'; did you mean 'a'?"),
        ("SELECT q.aa FROM t q", "column 'aa' does not exist in 'q'; did you mean 'a'?"),
        ("SELECT nope FROM t, u, w", "column 'nope' does not exist in 't', 'u' or 'w'"),
        ("SELECT a FROM t, u", "column 'a' is ambiguous: it is in 't' and in 'u'"),
        ("SELECT A FROM (SELECT a, a FROM t) q", "column 'A' is ambiguous: 'q' has two"),
        ("SELECT q.a FROM (SELECT a, a FROM t) q", "column 'a' is ambiguous: 'q' has two"),
        ("SELECT t.a FROM t q", "table 't' is not in FROM; did you mean its alias 'q'?"),
        ("SELECT v.a FROM t", "table 'v' is not in FROM"),
        ("SELECT 1 FROM t, t", "table name 't' is used twice in FROM; give one of them an alias"),
        ("SELECT a", "column 'a' does not exist"),
        ("SELECT *", "SELECT * needs a table in FROM"),
        ("SELECT FROM t", "SELECT needs at least one column"),
        ("SELECT v.* FROM t", "table 'v' is not in FROM"),
        ("SELECT 1 FROM t JOIN u", "JOIN needs ON or USING"),
        (
            "SELECT 1 FROM t JOIN u ON [b]",
            "JOIN ... ON needs a condition, not an expression (BIGINT[])",
        ),
        ("SELECT 1 FROM t JOIN u USING (b)", "column 'b' does not exist in 'u'"),
        (
            "SELECT 1 FROM t, u JOIN w ON t.a = z",
            "'t.a' is not visible in this JOIN: a comma in FROM binds weaker;"
            " write CROSS JOIN for the comma",
        ),
        ("SELECT a FROM t WHERE [b]", "WHERE needs a condition, not an expression (BIGINT[])"),
        ("SELECT a FROM t WHERE sum(a) > 1", "WHERE cannot contain the aggregate sum"),
        ("SELECT sum(sum(a)) FROM t", "an aggregate cannot contain the aggregate sum"),
        ("SELECT sum(a) AS s FROM t GROUP BY s", "GROUP BY cannot contain an aggregate"),
        ("SELECT a FROM t GROUP BY sum(b)", "GROUP BY cannot contain the aggregate sum"),
        ("SELECT a, b FROM t GROUP BY a", "column 'b' must be in GROUP BY or inside an aggregate"),
        ("SELECT a, sum(b) FROM t", "column 'a' must be in GROUP BY or inside an aggregate"),
        ("SELECT a FROM t HAVING a > 1", "column 'a' must be in GROUP BY or inside an aggregate"),
        (
            "SELECT sum(b) FROM t GROUP BY a ORDER BY c",
            "column 'c' must be in GROUP BY or inside an aggregate",
        ),
        (
            "SELECT DISTINCT a FROM t ORDER BY b",
            "ORDER BY of SELECT DISTINCT can only use selected columns",
        ),
        (
            "SELECT a FROM t ORDER BY 2",
            "ORDER BY position 2 is not in the SELECT list, which has 1",
        ),
        (
            "SELECT a FROM t GROUP BY 0",
            "GROUP BY position 0 is not in the SELECT list, which has 1",
        ),
        ("SELECT a FROM t ORDER BY 'x'", "ORDER BY needs columns, not the constant 'x'"),
        (
            "SELECT a AS x, b AS x FROM t ORDER BY x",
            "column 'x' is ambiguous: the select list has two",
        ),
        ("SELECT a FROM t LIMIT -1", "LIMIT must not be negative, as -1 is"),
        ("SELECT a FROM t OFFSET 'x'", "OFFSET needs an integer, not 'x' (VARCHAR)"),
        ("SELECT a FROM t LIMIT a", "column 'a' does not exist"),
        ("VALUES (1), (2, 3)", "row 2 of VALUES has 2 values, but the first row has 1"),
        ("SELECT * FROM (VALUES (1)) v (k, l)", "'v' has 1 columns, but its alias names 2"),
        ("WITH q AS (SELECT 1), q AS (SELECT 2) SELECT 1", "WITH defines 'q' twice"),
        ("WITH q AS (SELECT nope FROM w) SELECT 1", "column 'nope' does not exist in 'w'"),
        (
            "SELECT * FROM loop",
            "in the view 'loop': in the view 'pool': the view 'loop' refers to itself",
        ),
        ("SELECT * FROM broken", "in the view 'broken': column 'nothing' does not exist in 't'"),
    ],
)
def test_wrong_queries(bind: Bind, text: str, message: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        bind(text)
    assert caught.value.sentence == message


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("SELECT a FROM t FOR UPDATE", "FOR UPDATE"),
        ("SELECT a INTO x FROM t", "INTO"),
        ("SELECT 1 FROM f(1)", "the table function f()"),
        ("SELECT 1 FROM ONLY t", "ONLY"),
        ("SELECT a FROM t FETCH FIRST 1 ROW WITH TIES", "WITH TIES"),
    ],
)
def test_unsupported_queries_are_named(bind: Bind, text: str, construct: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        bind(text)
    assert caught.value.sentence == f"{construct} is not supported"


def test_there_are_13_queries() -> None:
    assert len(SSB) == 13


@pytest.mark.parametrize("query", SSB)
def test_ssb_queries(query: str, ssb_catalog: CatalogInfo) -> None:
    (statement,) = sql.parse(SSB[query])
    assert isinstance(statement, ast.Select)
    plan = sql.bind_select(statement, ssb_catalog)
    verify_plan(plan, ssb_catalog, "the binder")
    inner = "Project(Aggregate(Filter(InnerJoin("
    assert shape(plan).startswith(inner if query.startswith("q1") else f"Sort({inner}")
    # No cast hides a column from the star matcher or the encoder.
    for each in _walk(plan):
        for expression in _expressions(each):
            assert "cast" not in repr(expression)
    types = {column.name: column.type for column in plan.columns}
    sums = {"revenue", "profit", "sum(lo_revenue)"} & types.keys()
    assert [types[name] for name in sums] == [pa.int64()]


def _walk(plan: Plan) -> list[Plan]:
    return [plan, *(node for source in plan.sources for node in _walk(source))]


def _expressions(plan: Plan) -> list[object]:
    match plan:
        case Filter(predicate=predicate):
            return [predicate]
        case Project(items=items):
            assert all(isinstance(column, Column) for column, _ in items)
            return [expression for _, expression in items]
        case Aggregate(keys=keys, aggregates=aggregates):
            return [
                *(key for _, key in keys),
                *(e for _, call in aggregates for e in call.arguments),
            ]
        case _:
            return []


def test_the_operand_of_case_is_bound_once(bind: Bind) -> None:
    query = (
        "SELECT CASE (SELECT max(a) FROM t) WHEN 1 THEN 2 WHEN 3 THEN 4 WHEN 5 THEN 6 END FROM u"
    )
    plan = bind(query)
    assert isinstance(plan, Project)
    ((_, case),) = plan.items
    assert isinstance(case, Call)
    found = [part for each in case.arguments if isinstance(each, Call) for part in each.arguments]
    subqueries = [part for part in found if isinstance(part, Subquery)]
    assert len(subqueries) == 3
    assert all(part is subqueries[0] for part in subqueries)
