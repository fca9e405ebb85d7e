"""Judges a random query: against DuckDB and SQLite, with and without BVHs, or by splitting it.

Splitting needs no other engine. TLP: a query's rows are those where its condition is true, false
and unknown, put together (Rigger and Su, OOPSLA 2020). NoREC: as many rows pass a condition as
there are rows for which it is true when the select list computes it (Rigger and Su, ESEC/FSE 2020).
"""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import sqlglot
from differential import Row, open_pair, same
from query_features import NOT_IN_DUCKDB, NOT_IN_SQLITE
from sqlglot import exp

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterable

    from random_queries import Trial


class RefusedError(Exception):
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


def open_engines(steps: Iterable[Any]) -> Engines:
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
        raise RefusedError(str(error)) from error


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
    """Compare a query's answers. Raises RefusedError where RayDB does not support it."""
    try:
        if trial.check == "answer":
            return judge_answer(engines, trial)
        problem = SPLITS[trial.check](engines, trial.sql)
        return Verdict(problem, (trial.check,))
    except RefusedError:
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
        tuple(combine(item, [row[i] for row in rows]) for i, item in enumerate(items))
        for rows in groups.values()
    ]
    return compared(whole, together)


def combine(item: exp.Expression, values: list[Any]) -> Any:
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
