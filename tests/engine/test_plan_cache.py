"""The plan cache: what is kept for which texts and parameters, and for how long."""

from __future__ import annotations

import datetime as dt
import gc
import math
import random
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

import raydb
from raydb import running, sql
from raydb.engine.plans import plan_cache, prepared_plan, template_cache
from raydb.engine.session import queries
from raydb.planner import optimizer

SCHEMA = """
    CREATE TABLE t (a TINYINT, b BIGINT, c DECIMAL(9, 2), d DATE, e VARCHAR, f DOUBLE, g BOOLEAN);
    INSERT INTO t VALUES
        (1, 10, 1.00, '2024-01-01', 'x', 0.5, true), (2, 20, 2.50, '2024-02-01', 'y', -0.0, false),
        (3, 300, 3.25, '2024-03-01', '3', 1e300, NULL), (127, NULL, NULL, NULL, NULL, NULL, true);
    CREATE VIEW v AS SELECT * FROM t WHERE a < 100
"""


@pytest.fixture
def con() -> Any:
    with raydb.connect() as connection:
        connection.execute(SCHEMA)
        yield connection


class Calls:
    """Counts how often texts were parsed and queries bound and planned."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts = {"parse": 0, "bind": 0, "_prepared": 0}
        for name in ("parse", "bind_template", "bind_at_once"):
            counted = name.partition("_")[0]
            monkeypatch.setattr(sql, name, self._counting(counted, getattr(sql, name)))
        for module, name in ((queries, "_prepared"),):
            monkeypatch.setattr(module, name, self._counting(name, getattr(module, name)))

    def _counting(self, name: str, function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            self.counts[name] += 1
            return function(*arguments, **options)

        return call

    def since(self) -> tuple[int, int, int]:
        """Return how often each was called since the last time."""
        found = tuple(self.counts.values())
        self.counts = dict.fromkeys(self.counts, 0)
        return found  # type: ignore[return-value]


@pytest.fixture
def templates_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first text of a shape make the template, as the second one does otherwise."""
    monkeypatch.setattr(template_cache.TemplateCache, "knows", lambda *_: True)


@pytest.fixture
def calls(con: raydb.Connection, monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def rows(con: raydb.Connection, text: str, parameters: Any = ()) -> list[Any]:
    return con.execute(text, parameters).fetchall()


KEPT, FILLED, NEW = (0, 0, 0), (0, 0, 1), (1, 1, 1)


def test_same_text_is_not_planned_again(con: raydb.Connection, calls: Calls) -> None:
    for expected in (NEW, KEPT, KEPT):
        assert rows(con, "SELECT b FROM t WHERE a = 1") == [(10,)]
        assert calls.since() == expected


def test_other_constants_are_not_bound_again(con: raydb.Connection, calls: Calls) -> None:
    for constant in ("x", "z"):  # The second text makes the template.
        found = rows(con, f"SELECT b FROM t WHERE a = 1 AND e = '{constant}'")
        assert found == ([(10,)] if constant == "x" else [])
        assert calls.since() == NEW
    assert rows(con, "SELECT b FROM t WHERE a = 2 AND e = 'y'") == [(20,)]
    assert rows(con, "SELECT b FROM t WHERE a = 3 AND e = 'it''s -- 5'") == []
    assert calls.since() == (0, 0, 2)


def test_rules_run_once_for_all_constants(
    con: raydb.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []
    monkeypatch.setattr(optimizer, "watchers", [lambda rule, *_: ran.append(rule)])
    text = "SELECT e, sum(b) FROM t WHERE d >= DATE '2024-01-{}' + INTERVAL '1 month' GROUP BY e"
    for day, expected in ((1, ["3", "y"]), (2, ["3"]), (20, ["3"]), (9, ["3"]), (31, ["3"])):
        ran.clear()
        assert sorted(row[0] for row in rows(con, text.format(day))) == expected
        assert ("match_stars" in ran) == (day in (1, 2)), "the second text makes the template"


@pytest.mark.usefixtures("templates_at_once")
@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM t WHERE b IN (SELECT b FROM v WHERE a < {})",
        "SELECT count(*) FROM t WHERE EXISTS (SELECT a FROM v WHERE v.b = t.b AND v.a < {})",
        "SELECT count(*) FROM t WHERE b > (SELECT min(b) FROM v WHERE a > {})",
        "WITH q AS (SELECT b FROM v WHERE a < {}) SELECT count(*) FROM q",
        "SELECT count(v.b) FROM t LEFT JOIN v ON v.b = t.b AND v.a < {}",
        "SELECT sum(n) FROM (SELECT b AS n FROM t WHERE a < {} UNION ALL SELECT a FROM v) AS u",
        "SELECT e, sum(b) FROM t GROUP BY e HAVING sum(b) > {}",
        "SELECT count(*) FROM (SELECT DISTINCT e FROM t WHERE a < {}) AS q",
    ],
)
def test_rules_run_once_for_constants_anywhere_in_conditions(
    con: raydb.Connection, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    ran = []
    monkeypatch.setattr(optimizer, "watchers", [lambda rule, *_: ran.append(rule)])
    found = [rows(con, text.format(number)) for number in (1, 2)]
    ran.clear()
    found += [rows(con, text.format(number)) for number in (3, 4)]
    # Of an aggregate that is not fused some run when it is placed.
    assert "fold_constants" not in ran
    con.execute("SET plan_cache = 'off'")
    assert found == [rows(con, text.format(number)) for number in (1, 2, 3, 4)]


@pytest.mark.usefixtures("templates_at_once")
def test_rules_run_again_where_they_read_a_constant(
    con: raydb.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []
    monkeypatch.setattr(optimizer, "watchers", [lambda rule, *_: ran.append(rule)])
    text = "SELECT t.a FROM t JOIN v ON t.b = v.b JOIN v AS w ON w.b = t.b WHERE t.a < {}"
    for most, expected in ((2, [1]), (3, [1, 2]), (4, [1, 2, 3])):
        ran.clear()
        assert sorted(row[0] for row in rows(con, text.format(most))) == expected
        assert ran, "the order of joins is estimated with the constant"


@pytest.mark.usefixtures("templates_at_once")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = 1", "a = 300"),  # another type, for which the column is cast
        ("a = 1", "a = 1.5"),
        ("a = '1'", "a = '2'"),
        ("a = '1'", "a = '300'"),
        ("c > 1.5", "c > 1.555"),
        ("c > 1.5", "c > 2.5"),
        ("b > 9", "b > 99999999999999999999"),
        ("d >= '2024-02-01'", "d >= 'tomorrow'"),
        ("d >= DATE '2024-02-01'", "d >= DATE '2024-03-01'"),
        (
            "d >= DATE '2024-02-01' + INTERVAL '1 day'",
            "d >= DATE '2024-02-01' + INTERVAL '1 month'",
        ),
        ("e LIKE 'x%'", "e LIKE '%3'"),
        ("e IN ('x', 'y')", "e IN ('y', 'y')"),
        ("a IN (1, 2, NULL)", "a IN (2, 3, NULL)"),
        ("a BETWEEN 1 AND 2", "a BETWEEN 2 AND 1"),
        ("a = -1 + 2", "a = -1 + 3"),
        ("substring(e, 1, 1) = 'x'", "substring(e, 2, 1) = ''"),
        ("f = 0.0", "f = 0.5"),
        ("a = (SELECT min(a) FROM t WHERE b > 5)", "a = (SELECT min(a) FROM t WHERE b > 15)"),
        ("1 = 1", "1 = 2"),
        ("a = try_cast('1' AS INTEGER)", "a = try_cast('x' AS INTEGER)"),
        ("b / 10 = 1", "b / 0 = 1"),
        ("round(c, 1) = 1.0", "round(c, 2) = 1.0"),
        ("e = 'a' 'b'", "e = 'x' ''"),
        ("e = E'x'", "e = E'y'"),
        ("b = 1e1", "b = 2e1"),
        ("b = 0x0A", "b = 0x14"),
        ('"a" = 1 -- 2', '"a" = 1 -- 3'),
        ("a = 1 /* 'x */", "a = 2 /* 'x */"),
    ],
)
def test_answers_are_those_without_a_cache(con: raydb.Connection, one: str, other: str) -> None:
    def answers() -> list[Any]:
        found: list[Any] = []
        for condition in (one, other, one, other):
            for text in (
                f"SELECT a, d FROM t WHERE {condition}",
                f"SELECT count(*) FROM t WHERE {condition} HAVING count(*) > 0",
                f"WITH q AS (SELECT * FROM v WHERE {condition}) SELECT q.a FROM q JOIN t USING (a)",
            ):
                try:
                    found.append(rows(con, text))
                except raydb.Error as error:
                    found.append((type(error), str(error)))
        return found

    cached = answers()
    con.execute("SET plan_cache = 'off'")
    assert cached == answers()


@pytest.mark.usefixtures("templates_at_once")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a + 1 FROM t", "SELECT a + 2 FROM t"),
        ("SELECT 'x'", "SELECT 'y'"),
        ("SELECT b FROM t ORDER BY 1 LIMIT 1", "SELECT b FROM t ORDER BY 1 LIMIT 2"),
        ("SELECT a, -b AS n FROM t ORDER BY 1", "SELECT a, -b AS n FROM t ORDER BY 2"),
        ("SELECT a, sum(b) FROM t GROUP BY 1", "SELECT a, sum(b) FROM t GROUP BY 2"),
        ("SELECT CAST(c AS DECIMAL(9, 1)) FROM t", "SELECT CAST(c AS DECIMAL(9, 0)) FROM t"),
        ("SELECT (SELECT max(a) FROM t WHERE a < 2)", "SELECT (SELECT max(a) FROM t WHERE a < 3)"),
        (
            "SELECT a > 1 FROM t GROUP BY a > 1 HAVING a > 1",
            "SELECT a > 1 FROM t GROUP BY a > 1 HAVING a > 2",
        ),
        (
            "SELECT count(*) FILTER (WHERE a > 1) FROM t",
            "SELECT count(*) FILTER (WHERE a > 2) FROM t",
        ),
    ],
)
def test_constants_outside_of_conditions_are_of_the_text(
    con: raydb.Connection, one: str, other: str
) -> None:
    def answer(text: str) -> Any:
        try:
            cursor = con.execute(text)
        except raydb.Error as error:
            return type(error), str(error)
        return cursor.description, cursor.fetchall()

    cached = [answer(text) for text in (one, other, one)]
    con.execute("SET plan_cache = 'off'")
    assert cached == [answer(text) for text in (one, other, one)]


def test_parameters_bind_into_a_kept_plan(con: raydb.Connection, calls: Calls) -> None:
    text = "SELECT e FROM t WHERE a = ? AND c < ?"
    assert rows(con, text, (1, 9)) == [("x",)]
    assert calls.since() == NEW
    assert rows(con, text, (2, 8)) == [("y",)]
    assert calls.since() == FILLED
    assert rows(con, text, [2, 8]) == [("y",)]
    assert calls.since() == KEPT
    with pytest.raises(raydb.ProgrammingError, match="has 2 parameters, but 1 value was given"):
        rows(con, text, (1,))


@pytest.mark.parametrize(
    "values",
    [(1, True, 1.0, "1", Decimal(1), None, 300), (0.0, -0.0, math.nan), (dt.date(2024, 1, 1), "x")],
)
def test_values_of_other_types_are_other_questions(con: raydb.Connection, values: Any) -> None:
    def answers() -> list[str]:
        found = []
        for value in (*values, *values):
            for text in (
                "SELECT ? AS v",
                "SELECT a FROM t WHERE a = ?",
                "SELECT b FROM t WHERE d < ?",
            ):
                try:
                    cursor = con.execute(text, (value,))
                    found.append(repr((cursor.description, cursor.fetchall())))
                except raydb.Error as error:
                    found.append(f"{type(error)} {error}")
        return found

    cached = answers()
    con.execute("SET plan_cache = 'off'")
    assert cached == answers()


def test_named_parameters(con: raydb.Connection, calls: Calls) -> None:
    text = "SELECT a FROM t WHERE b = :b AND e = $e"
    assert rows(con, text, {"b": 10, "e": "x"}) == [(1,)]
    assert rows(con, text, {"e": "y", "b": 20}) == [(2,)]
    assert calls.since() == (1, 1, 2)
    with pytest.raises(raydb.ProgrammingError, match="no value"):
        rows(con, text, {"b": 10})


@pytest.mark.parametrize("comparison", ["= ANY", "<> ALL", "< ANY", ">= ALL"])
def test_lists_are_questions_of_their_own(con: raydb.Connection, comparison: str) -> None:
    text = f"SELECT a FROM t WHERE a {comparison} ($1) ORDER BY a"
    for given in ([1, 3], [2], [], [1, 2, 3, 127], [None, 3], None, ["1", "2"], [1.5, 3.0], [1, 3]):
        found = con.execute(text, [given]).fetchall()
        elements = ", ".join("NULL" if each is None else repr(each) for each in given or ())
        as_list = "NULL" if given is None else f"[{elements}]"
        assert found == con.execute(text.replace("$1", as_list)).fetchall(), given
    with pytest.raises(raydb.ProgrammingError, match="IN, ANY and ALL need a list or a query"):
        con.execute(text, [5])


def test_executemany_parses_once(con: raydb.Connection, calls: Calls) -> None:
    con.executemany("INSERT INTO t (a, e) VALUES (?, ?)", [(number, "n") for number in range(5)])
    assert calls.since()[0] == 1
    assert rows(con, "SELECT count(*) FROM t WHERE e = 'n'") == [(5,)]


def test_new_rows_and_tables_are_seen(con: raydb.Connection) -> None:
    text = "SELECT a FROM t WHERE e = 'y'"
    assert rows(con, text) == [(2,)]
    con.execute("INSERT INTO t (a, e) VALUES (9, 'y')")
    assert rows(con, text) == [(2,), (9,)]
    con.execute("DROP VIEW v; DROP TABLE t; CREATE TABLE t (a VARCHAR, e VARCHAR)")
    assert rows(con, text) == []
    assert con.execute(text).description[0][1] == "VARCHAR"


def test_settings_are_part_of_the_key(con: raydb.Connection, calls: Calls) -> None:
    for _ in range(2):
        con.execute("SET fused_path = 'on'")
        rows(con, "SELECT sum(b) FROM t")
        con.execute("SET fused_path = 'off'")
        calls.since()
        rows(con, "SELECT sum(b) FROM t")
    assert calls.since() == KEPT
    con.execute("SET backend = 'cpu'")
    calls.since()
    rows(con, "SELECT sum(b) FROM t")
    assert calls.since() == FILLED
    con.execute("SET plan_cache = 'off'")
    calls.since()
    rows(con, "SELECT sum(b) FROM t")
    assert calls.since() == NEW


@pytest.mark.parametrize(
    "text",
    [
        "SELECT now()",
        "WITH c AS (SELECT now() AS moment) SELECT moment FROM c",
        "WITH c AS MATERIALIZED (SELECT now() AS moment) SELECT x.moment FROM c AS x, c AS y",
        "SELECT x.moment FROM moments AS x, moments AS y",
    ],
)
def test_time_goes_by(con: raydb.Connection, calls: Calls, text: str) -> None:
    con.execute("CREATE VIEW moments AS SELECT now() AS moment")
    first = rows(con, text)
    second = rows(con, text)
    assert second > first
    calls.since()
    assert rows(con, text) > second
    assert calls.since() == FILLED


CLOCK_IN_PLANS = {
    "SELECT count(*) FROM generate_series(CURRENT_DATE, DATE '2024-03-04', INTERVAL '1 day')": 3,
    "SELECT count(*) FROM generate_series(1, extract(day FROM now())::INTEGER)": 2,
    "SELECT count(*) FROM (SELECT * FROM t LIMIT extract(day FROM CURRENT_DATE))": 2,
    "SELECT count(*) FROM (SELECT * FROM t OFFSET extract(day FROM now())::INTEGER)": 2,
    "SELECT max(n) FROM (SELECT count(*) OVER (ORDER BY a ROWS "
    "extract(day FROM now())::INTEGER - 1 PRECEDING) AS n FROM t)": 2,
    "SELECT count(*) FROM first_days": 2,
}


@pytest.mark.parametrize("text", CLOCK_IN_PLANS)
@pytest.mark.parametrize("padding", ["", f" -- {'-' * 20_000}"])
@pytest.mark.parametrize("parameters", [(), (1,)])
def test_constants_of_the_clock_are_computed_each_time(
    con: raydb.Connection,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    padding: str,
    parameters: tuple[int, ...],
) -> None:
    con.execute("CREATE VIEW first_days AS SELECT * FROM t LIMIT extract(day FROM now())")

    class Clock(dt.datetime):
        moment = dt.datetime(2024, 3, 2, 23, 59, 59)

        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:
            return cls.moment

    clock = SimpleNamespace(**{**vars(dt), "datetime": Clock})
    monkeypatch.setattr(running, "dt", clock)
    asked = text + (" WHERE 1 = ?" if parameters else "") + padding
    for _ in range(3):
        assert con.execute(asked, parameters).fetchall() == [(CLOCK_IN_PLANS[text],)]
    Clock.moment += dt.timedelta(seconds=1)
    # A day later the series to the fourth is shorter, as are the rows behind the offset.
    after = 1 if "OFFSET" in text else 2 if "2024" in text else 3
    for _ in range(3):
        assert con.execute(asked, parameters).fetchall() == [(after,)]


def test_cache_is_bounded(con: raydb.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = con._session.queries.cache
    monkeypatch.setattr(plan_cache, "MAX_BYTES", 3 * prepared_plan.PLAN_BYTES)
    monkeypatch.setattr(template_cache, "MAX_SHAPES", 4)
    for number in range(20):
        assert rows(con, f"SELECT a FROM t WHERE b = {number}") == ([(1,)] if number == 10 else [])
        for text in (f"SELECT a AS a{number} FROM t WHERE b = {b}" for b in (10, 11)):
            assert rows(con, text) == ([(1,)] if text.endswith("10") else [])
    assert len(cache._plans) == 3
    assert cache._size_bytes == 3 * prepared_plan.PLAN_BYTES
    assert len(cache.templates._templates) == 4
    for number in range(20):
        rows(con, f"SELECT a FROM t WHERE a + {number} = 10")
    assert all(
        len(each) <= template_cache.MAX_TEMPLATES for each in cache.templates._templates.values()
    )


def test_of_texts_that_ran_once_the_last_plans_are_kept(
    con: raydb.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = con._session.queries.cache
    monkeypatch.setattr(plan_cache, "MAX_NEW_PLANS", 2)
    texts = [f"SELECT a AS a{number} FROM t WHERE b = 10" for number in range(6)]

    def known() -> list[bool]:
        return [con._familiarity(text) == "repeated" for text in texts]

    for text in (texts[0], *texts):  # the first one runs twice
        assert rows(con, text) == [(1,)]
    assert known() == [True, False, False, False, True, True]
    for text in texts[1:4]:  # they were there before, so they are no longer new
        assert rows(con, text) == [(1,)]
    assert known() == [True, True, True, True, True, True]
    assert cache._size_bytes == sum(size for _, size in cache._plans.values())
    con.execute("INSERT INTO t (a) VALUES (9)")
    for text in texts[1:4]:  # nothing is remembered of plans of another snapshot
        assert rows(con, text) == [(1,)]
    assert known() == [False, False, True, True, False, False]


CYCLE_FREE = [
    "SELECT a + {0} AS s FROM t WHERE (b > {0} OR a < 2) AND e IS NOT NULL ORDER BY 1",
    "SELECT - max(a) + {0} * 2, count(*) FROM t GROUP BY g HAVING sum(b) > {0}",
    "SELECT CAST(a AS VARCHAR) || '{0}' FROM t",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM t AS x WHERE x.b < t.b AND x.a <> {0})",
    "SELECT (SELECT count(*) FROM t AS x WHERE x.b < t.b + {0}) FROM t ORDER BY 1",
    "WITH w AS (SELECT a, b + {0} AS c FROM t) SELECT * FROM w JOIN w AS v ON w.a = v.c",
]


@pytest.mark.parametrize("text", CYCLE_FREE)
def test_what_has_run_leaves_nothing_to_the_garbage_collector(
    con: raydb.Connection, text: str
) -> None:
    """Trees and plans in cycles would wait for its walks over all objects of the process.

    It also finds what other threads of the process leave, so the least of five rounds counts.
    """
    found = []
    for first in range(0, 60, 10):
        gc.collect()
        gc.disable()
        try:
            for number in range(first, first + 10):
                con.execute(text.format(number)).fetchall()
            found.append(gc.collect())
        finally:
            gc.enable()
    assert min(found[1:]) < 10


def test_arrays_of_jobs_count(con: raydb.Connection) -> None:
    con.execute("CREATE BVH d ON t (SCAN (a, e), GROUP BY (g), AGGREGATE (b))")
    text = "SELECT g, sum(b) FROM t WHERE a < 3 GROUP BY g ORDER BY g"
    assert rows(con, text) == [(False, 20), (True, 10)]
    (kept,) = con._session.queries.cache._plans.values()
    assert kept[0].post_aggregate is not None
    assert kept[1] > prepared_plan.PLAN_BYTES


def test_strings_and_names_are_whole_whatever_is_in_them() -> None:
    """Texts of one shape fill a template: where a string ends is seen without a parser."""
    con = raydb.connect()
    generator = random.Random(1)
    for _ in range(300):
        string, name = (
            "".join(generator.choice("'\"\\a1.-/*[],; ") for _ in range(generator.randrange(1, 9)))
            for _ in range(2)
        )
        quoted, named = string.replace("'", "''"), name.replace('"', '""')
        answer = con.execute(f"SELECT '{quoted}' AS \"{named}\", 'b''' || 7, '{quoted}'")
        assert answer.description[0][0] == name
        assert answer.fetchall() == [(string, "b'7", string)]


def test_a_filled_query_leaves_a_plan_where_it_comes_again_soon() -> None:
    cache = plan_cache.PlanCache()
    assert not cache.was_there(0)
    assert cache.was_there(0)
    for key in range(1, plan_cache.MAX_PLANS + 2):
        assert not cache.was_there(key)
    assert not cache.was_there(1)
    assert cache.was_there(plan_cache.MAX_PLANS)
    assert cache.was_there(0)  # whose plan was to be kept
