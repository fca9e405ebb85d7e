"""Golden rules: tests/planner/rules/<rule>.sql has queries with their plans before and after it.

    SELECT a FROM (SELECT a FROM t ORDER BY a) AS s JOIN u USING (a);
    -- before:
    --   InnerJoin (a = a)
    --     Sort a
    --       Scan t (a)
    --     Scan u (a)
    -- after:
    --   ...

The plan before is what the rules ahead of this one have made of the query. A statement without an
answer, such as CREATE TABLE, is run. `pytest --golden-update` rewrites the plans; review them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import raydb
from raydb.planner import optimizer
from raydb.planner.expressions.show import show, show_aggregate, show_window
from raydb.planner.plan.nodes import (
    Aggregate,
    Apply,
    CommonTable,
    Filter,
    InnerJoin,
    Limit,
    OuterJoin,
    Plan,
    Project,
    Recursive,
    Scan,
    SemiJoin,
    Series,
    Sort,
    Star,
    Union,
    Values,
    Window,
    WorkingTable,
)

RULES = Path(__file__).parent / "rules"


def render(plan: Plan, depth: int = 0) -> list[str]:
    """Return a logical plan as indented lines, one a node."""
    lines = ["  " * depth + f"{type(plan).__name__} {summary(plan)}".rstrip()]
    inner = (plan.query,) if isinstance(plan, CommonTable) else plan.sources
    for source in inner:
        lines += render(source, depth + 1)
    return lines


def summary(plan: Plan) -> str:
    match plan:
        case Scan(table=table, columns=columns):
            return f"{table} ({names(columns)})"
        case Values(rows=rows, columns=columns):
            return f"{len(rows)} rows ({names(columns)})"
        case Series(start=start, stop=stop, step=step):
            return f"{start} to {stop} by {step}"
        case CommonTable(name=name, columns=columns):
            return f"{name} ({names(columns)})"
        case WorkingTable(columns=columns) | Union(columns=columns) | Recursive(columns=columns):
            return f"({names(columns)})"
        case Filter(predicate=predicate):
            return show(predicate)
        case Project(items=items):
            return ", ".join(named(column, expression) for column, expression in items)
        case Window(calls=calls):
            return ", ".join(show_window(call) for _, call in calls)
        case InnerJoin(conditions=conditions):
            return " AND ".join(show(condition) for condition in conditions)
        case OuterJoin(kind=kind, conditions=conditions):
            return f"{kind} {' AND '.join(show(condition) for condition in conditions)}"
        case SemiJoin(kind=kind, conditions=conditions):
            return f"{kind} {' AND '.join(show(condition) for condition in conditions)}"
        case Apply(kind=kind, arguments=arguments):
            return f"{kind} ({', '.join(show(expression) for _, expression in arguments)})"
        case Aggregate():
            return summary_of_aggregate(plan)
        case Sort(keys=keys):
            return ", ".join(key.column.name + " DESC" * key.descending for key in keys)
        case Limit(count=count, offset=offset):
            return f"{'all' if count is None else count}" + f" after {offset}" * bool(offset)


def summary_of_aggregate(plan: Aggregate) -> str:
    calls = ", ".join(show_aggregate(call) for _, call in plan.aggregates)
    keys = ", ".join(named(column, key) for column, key in plan.keys)
    sets = "" if plan.grouping is None else f" in {len(plan.grouping.sets)} sets"
    star = f" [star of {plan.star.fact}]" if isinstance(plan.star, Star) else ""
    return f"{calls or 'distinct'}{' by ' if keys else ''}{keys}{sets}{star}"


def names(columns: Any) -> str:
    return ", ".join(column.name for column in columns)


def named(column: Any, expression: Any) -> str:
    shown = show(expression)
    return shown if shown == column.name else f"{column.name} := {shown}"


def run_rule(rule: str, connection: Any, sql: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines of a query's plans before and after a rule."""
    seen: list[tuple[Plan, Plan]] = []

    def record(name: str, before: Plan, after: Plan, _: Any) -> None:
        if name == rule:
            seen.append((before, after))

    with monkeypatch.context() as patched:
        patched.setattr(optimizer, "watchers", [*optimizer.watchers, record])
        patched.setattr(optimizer, "needed_rules", lambda rules, _: rules)
        connection.execute(f"EXPLAIN {sql}")
    before, after = seen[0]
    if before == after:
        return ["unchanged:", *(f"  {line}" for line in render(before))]
    plans = (("before:", before), ("after:", after))
    return [line for word, plan in plans for line in (word, *(f"  {x}" for x in render(plan)))]


@pytest.mark.parametrize("path", sorted(RULES.glob("*.sql")), ids=lambda path: path.stem)
def test_rule(path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    connection = raydb.connect()
    wrong: list[str] = []
    result: list[str] = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = block.strip("\n").splitlines()
        prose = [line for line in lines if line.startswith("--")]
        sql = "\n".join(line for line in lines if not line.startswith("--")).removesuffix(";")
        comments = lines[: next(i for i, line in enumerate(lines) if not line.startswith("--"))]
        if sql.startswith(("CREATE", "INSERT")):
            connection.execute(sql)
            result.append(block.strip("\n"))
            continue
        expected = prose[len(comments) :]
        found = [f"-- {line}" for line in run_rule(path.stem, connection, sql, monkeypatch)]
        if found != expected:
            wrong.append("\n".join([sql, "expected:", *expected, "found:", *found]))
        result.append("\n".join([*comments, f"{sql};", *found]))
    if pytestconfig.getoption("--golden-update"):
        path.write_text("\n\n".join(result) + "\n", encoding="utf-8")
        pytest.skip("plans are rewritten")
    if wrong:
        pytest.fail("\n\n".join(wrong), pytrace=False)


@pytest.mark.parametrize("path", sorted(RULES.glob("*.sql")), ids=lambda path: path.stem)
def test_rules_that_are_left_out_would_change_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_out: set[str] = set()
    compared: set[str] = set()
    needed = optimizer.needed_rules

    def all_rules(rules: tuple[str, ...], kinds: frozenset[type | str]) -> tuple[str, ...]:
        left_out.clear()
        left_out.update({*rules}.difference(needed(rules, kinds)))
        return rules

    def compare(name: str, before: Plan, after: Plan, _: Any) -> None:
        if name in left_out:
            assert before == after, name
            compared.add(name)

    monkeypatch.setattr(optimizer, "needed_rules", all_rules)
    monkeypatch.setattr(optimizer, "watchers", [*optimizer.watchers, compare])
    with raydb.connect() as connection:
        for statement in path.read_text(encoding="utf-8").split(";\n"):
            sql = "\n".join(line for line in statement.splitlines() if line[:2] != "--").strip()
            is_query = sql.startswith(("SELECT", "WITH"))
            connection.execute(f"EXPLAIN {sql}" if is_query else sql or "CHECKPOINT")
    assert compared
