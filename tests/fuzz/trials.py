"""Judges a random query: against DuckDB and SQLite, with and without BVHs, or by splitting it.

Splitting needs no other engine. TLP: a query's rows are those where its condition is true, false and
unknown, put together (Rigger and Su, OOPSLA 2020). NoREC: as many rows pass a condition as there are
rows for which it is true when it is computed in the select list (Rigger and Su, ESEC/FSE 2020).
"""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import sqlglot
from differential import Row, open_pair, part_count, same, script, without
from random_queries import NOT_IN_SQLITE
from sqlglot import exp

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from random_queries import Trial

# DuckDB compares rows as structs, for which NULL equals NULL; it is unknown by the standard.
NOT_IN_DUCKDB = {"row value", "row in subquery"}


class Refused(Exception):
    """RayDB does not support the query."""


@dataclass(slots=True)
class Engines:
    """The same database in three engines, and the steps that made it."""

    steps: list[Any]
    ours: Any
    duckdb: Any
    sqlite: sqlite3.Connection

    def run(self, step: Any) -> None:
        self.steps.append(step)
        sql = step if isinstance(step, str) else step.sql
        self.ours.execute(sql)
        if not sql.startswith("CREATE BVH"):
            self.duckdb.execute(sql)
            self.sqlite.execute(for_sqlite(sql))

    def close(self) -> None:
        self.ours.close()
        self.duckdb.close()
        self.sqlite.close()


def open_engines(steps: Iterator[Any]) -> Engines:
    """Return a database that the steps made; DuckDB with PostgreSQL's choices."""
    pair = open_pair()
    pair.theirs.execute("SET integer_division = true")
    pair.theirs.execute("SET order_by_non_integer_literal = true")
    pair.theirs.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'")
    sqlite = sqlite3.connect(":memory:", isolation_level=None)
    sqlite.execute("PRAGMA case_sensitive_like = ON")
    engines = Engines([], pair.ours, pair.theirs, sqlite)
    for step in steps:
        engines.run(step)
    return engines


def for_sqlite(sql: str) -> str:
    return re.sub(r"\bDATE '", "'", sql)


# Answers


def rows_of(connection: Any, sql: str) -> list[Row]:
    return list(connection.execute(sql).fetchall())


def rows_of_ours(engines: Engines, sql: str) -> list[Row]:
    try:
        return rows_of(engines.ours, sql)
    except raydb.NotSupportedError as error:
        raise Refused(str(error)) from error


def without_bvhs(engines: Engines, sql: str) -> list[Row]:
    engines.ours.execute("SET fused_path = 'off'")
    try:
        return rows_of_ours(engines, sql)
    finally:
        engines.ours.execute("SET fused_path = 'on'")


def in_sqlite(rows: list[Row]) -> list[Row]:
    """Return rows as SQLite has them: truths are numbers and dates are text."""

    def value(found: Any) -> Any:
        match found:
            case bool():
                return int(found)
            case Decimal():
                return float(found)
            case dt.date():
                return found.isoformat()
            case _:
                return found

    return [tuple(map(value, row)) for row in rows]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What judging a query found: `problem` is '' where all is well; `oracles` took part."""

    problem: str
    oracles: tuple[str, ...]


def judge(engines: Engines, trial: Trial) -> Verdict:
    """Compare a query's answers. Raises Refused where RayDB does not support it."""
    try:
        if trial.check == "answer":
            return judge_answer(engines, trial)
        problem = SPLITS[trial.check](engines, trial.sql)
        return Verdict(problem, (trial.check,))
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - every other one is RayDB's mistake
        return Verdict(f"RayDB: {type(error).__name__}: {error}", ())


def judge_answer(engines: Engines, trial: Trial) -> Verdict:
    general = without_bvhs(engines, trial.sql)
    fused = rows_of_ours(engines, trial.sql)
    if not same(fused, general, trial.ordered):
        return Verdict(f"fused path:   {fused}\ngeneral path: {general}", ())
    oracles = []
    if not trial.used & NOT_IN_DUCKDB:
        try:
            theirs = rows_of(engines.duckdb, trial.sql)
        except duckdb.Error:
            pass
        else:
            oracles.append("DuckDB")
            if not same(general, theirs, trial.ordered):
                return Verdict(f"RayDB:  {general}\nDuckDB: {theirs}", ())
    if not trial.used & NOT_IN_SQLITE:
        try:
            theirs = rows_of(engines.sqlite, for_sqlite(trial.sql))
        except sqlite3.Error:
            pass
        else:
            oracles.append("SQLite")
            if not same(in_sqlite(general), theirs, trial.ordered):
                return Verdict(f"RayDB:  {in_sqlite(general)}\nSQLite: {theirs}", ())
    return Verdict("", tuple(oracles))


# Splitting


def parse(sql: str) -> exp.Expression:
    return sqlglot.parse_one(sql, dialect="duckdb")


def parts(sql: str, clause: str) -> list[str]:
    """Return the query without its condition, and where that is true, false and unknown."""
    tree = parse(sql)
    condition = tree.args[clause].this
    texts = []
    for split in (None, condition, exp.not_(condition), exp.paren(condition).is_(exp.null())):
        part = tree.copy()
        kind = exp.Where if clause == "where" else exp.Having
        part.set(clause, None if split is None else kind(this=split.copy()))
        texts.append(part.sql(dialect="duckdb"))
    return texts


def split_answers(engines: Engines, sql: str, clause: str) -> tuple[list[Row], list[list[Row]]]:
    whole, *split = [rows_of_ours(engines, text) for text in parts(sql, clause)]
    return whole, split


def judge_where(engines: Engines, sql: str) -> str:
    whole, split = split_answers(engines, sql, "where")
    return compared(whole, [row for rows in split for row in rows])


def judge_having(engines: Engines, sql: str) -> str:
    whole, split = split_answers(engines, sql, "having")
    return compared(whole, [row for rows in split for row in rows])


def judge_distinct(engines: Engines, sql: str) -> str:
    whole, split = split_answers(engines, sql, "where")
    return compared(whole, list({row: None for rows in split for row in rows}))


def judge_aggregate(engines: Engines, sql: str) -> str:
    """Compare aggregates with those of the parts, which are put together by group key."""
    items = [item.unalias() for item in parse(sql).expressions]
    whole, split = split_answers(engines, sql, "where")
    groups: dict[Row, list[Row]] = {}
    keys = [i for i, item in enumerate(items) if not isinstance(item, exp.AggFunc)]
    for row in (row for rows in split for row in rows):
        groups.setdefault(tuple(row[i] for i in keys), []).append(row)
    together = [
        tuple(combine(item, values) for item, values in zip(items, zip(*rows), strict=True))
        for rows in groups.values()
    ]
    return compared(whole, together)


def combine(item: exp.Expression, values: tuple[Any, ...]) -> Any:
    """Return the aggregate of all rows from those of its parts."""
    known = [value for value in values if value is not None]
    match item:
        case exp.Count():
            return sum(known)
        case exp.Sum():
            return sum(known) if known else None
        case exp.Min():
            return min(known, default=None)
        case exp.Max():
            return max(known, default=None)
        case _:
            return values[0]


def judge_count(engines: Engines, sql: str) -> str:
    """NoREC: count the rows that pass, and those for which the condition is true."""
    tree = parse(sql)
    condition = tree.args["where"].this
    tree.set("where", None)
    case = exp.case().when(condition.copy(), exp.Literal.number(1)).else_(exp.Literal.number(0))
    tree.set("expressions", [exp.Sum(this=case)])
    passed = rows_of_ours(engines, sql)
    ((true,),) = rows_of_ours(engines, tree.sql(dialect="duckdb"))
    return compared(passed, [(true or 0,)])


def compared(whole: list[Row], together: list[Row]) -> str:
    return "" if same(whole, together, ordered=False) else f"whole: {whole}\nparts: {together}"


SPLITS = {
    "where": judge_where,
    "having": judge_having,
    "distinct": judge_distinct,
    "aggregate": judge_aggregate,
    "count": judge_count,
}


# Shrinking

MOST_TRIALS = 400


def shrunk(steps: list[Any], trial: Trial) -> tuple[list[Any], Trial, str]:
    """Return fewer rows and a smaller query for which there still is a problem."""
    budget = Counter(left=MOST_TRIALS)
    problem = problem_of(steps, trial, budget)
    assert problem, "the problem is gone on a fresh database"
    kind = problem_kind(problem)
    smaller = True
    while smaller and budget["left"] > 0:
        smaller = False
        for candidate in smaller_queries(trial):
            found = problem_of(steps, candidate, budget)
            if problem_kind(found) == kind:
                trial, problem, smaller = candidate, found, True
                break
    part = end = part_count(steps)
    budget["left"] = MOST_TRIALS
    while part > 0:
        while end > 0:
            start = max(end - part, 0)
            fewer = without(steps, start, end)
            found = problem_of(fewer, trial, budget)
            if problem_kind(found) == kind:
                steps, problem = fewer, found
            end = start
        part, end = part // 2, part_count(steps)
    return steps, trial, problem


def problem_kind(problem: str) -> str:
    """Return what has to stay while a case shrinks: an error's text, or whose answer differs."""
    return problem[:40] if re.match(r"RayDB: \w+: ", problem) else ", ".join(re.findall(r"^\w+", problem, re.M))


def problem_of(steps: list[Any], trial: Trial, budget: Counter[str]) -> str:
    budget["left"] -= 1
    if budget["left"] < 0:
        return ""
    try:
        engines = open_engines(iter(steps))
    except (raydb.Error, duckdb.Error, sqlite3.Error):
        return ""
    try:
        return judge(engines, trial).problem
    except Refused:
        return ""
    finally:
        engines.close()


def smaller_queries(trial: Trial) -> Iterator[Trial]:
    """Yield the query with one part left out or replaced by one of its own parts."""
    tree = parse(trial.sql)
    for number, node in enumerate(tree.walk()):
        for change in range(len(changes(node))):
            copy = tree.copy()
            target = next(n for i, n in enumerate(copy.walk()) if i == number)
            changes(target)[change]()
            text = copy.sql(dialect="duckdb")
            if len(text) < len(trial.sql):
                ordered = trial.ordered and copy.args.get("order") is not None
                yield replace(trial, sql=text, ordered=ordered)


def changes(node: exp.Expression) -> list[Any]:
    """Return what can be done to make a node smaller."""
    found: list[Any] = []
    for name, value in node.args.items():
        if isinstance(value, list) and value:
            for i in range(len(value)):
                if len(value) > 1 or name in {"joins", "laterals"}:
                    found.append(lambda name=name, i=i: node.set(name, [*node.args[name][:i], *node.args[name][i + 1 :]]))
        elif name in {"where", "having", "group", "order", "limit", "offset", "distinct", "qualify", "with_", "spec", "partition_by"} and value:
            if not (node.parent is None and name in {"where", "having"}):
                found.append(lambda name=name: node.set(name, None))
    if node.parent is not None:
        for child in node.iter_expressions():
            if isinstance(node, exp.Condition) and isinstance(child, exp.Condition):
                found.append(lambda child=child: node.replace(child))
        if isinstance(node, exp.Condition) and not isinstance(node, exp.Literal | exp.Column | exp.Null):
            found.append(lambda: node.replace(exp.null()))
    return found


def report(steps: list[Any], trial: Trial, problem: str) -> str:
    """Return a failing case as a script."""
    queries = [trial.sql]
    if trial.check not in {"answer", "count"}:
        queries = parts(trial.sql, "having" if trial.check == "having" else "where")
    return f"check: {trial.check}\n\n{script([*steps, *queries])}\n{problem}"
