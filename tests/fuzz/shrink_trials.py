"""Makes a failing case small: fewer rows, and a query without what the problem does not need."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
from differential import part_count, script, without
from sqlglot import exp
from trials import RefusedError, judge, open_engines, parse, parts

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from random_queries import Trial

# A try opens three databases (about 50 ms), so a case is shrunk for about a minute at most.
MAX_TRIES = 400

# What a query may lose.
CLAUSES = {
    *("where", "having", "group", "order", "limit", "offset", "distinct", "qualify", "with_"),
    *("spec", "partition_by"),
}


def shrunk(steps: list[Any], trial: Trial) -> tuple[list[Any], Trial, str]:
    """Return fewer rows and a smaller query that show the same problem."""
    problem = problem_of(steps, trial)
    assert problem, "the problem is gone on a fresh database"
    kind = problem_kind(problem)
    tries = 0
    candidates = smaller_queries(trial)
    while tries < MAX_TRIES and (candidate := next(candidates, None)) is not None:
        tries += 1
        found = problem_of(steps, candidate)
        if problem_kind(found) == kind:
            trial, problem = candidate, found
            candidates = smaller_queries(trial)
    part = end = part_count(steps)
    while part > 0:
        while end > 0 and tries < 2 * MAX_TRIES:
            tries += 1
            start = max(end - part, 0)
            fewer = without(steps, start, end)
            found = problem_of(fewer, trial)
            if problem_kind(found) == kind:
                steps, problem = fewer, found
            end = start
        part, end = part // 2, part_count(steps)
    return steps, trial, problem


def problem_kind(problem: str) -> str:
    """Return what has to stay while a case shrinks: an error's text, or whose answer differs."""
    if re.match(r"RayDB: \w+: ", problem):
        return problem[:40]
    return ", ".join(re.findall(r"^\w+", problem, re.MULTILINE))


def problem_of(steps: list[Any], trial: Trial) -> str:
    """Return the problem on a fresh database, or '' where there is none or a step fails."""
    try:
        engines = open_engines(steps)
    except (raydb.Error, duckdb.Error, sqlite3.Error):
        return ""
    try:
        return judge(engines, trial).problem
    except RefusedError:
        return ""
    finally:
        engines.close()


def smaller_queries(trial: Trial) -> Iterator[Trial]:
    """Yield the query with one part left out, or replaced by one of its own parts or NULL."""
    tree = parse(trial.sql)
    for number, node in enumerate(tree.walk()):
        for change in range(len(changes(node))):
            smaller = tree.copy()
            same_node = next(n for i, n in enumerate(smaller.walk()) if i == number)
            changes(same_node)[change]()
            text = smaller.sql(dialect="duckdb")
            if len(text) < len(trial.sql):
                ordered = trial.ordered and smaller.args.get("order") is not None
                yield replace(trial, sql=text, ordered=ordered)


def changes(node: exp.Expression) -> list[Callable[[], object]]:
    """Return what makes a node smaller; a split query keeps the condition that it is split by."""
    found: list[Callable[[], object]] = []
    for name, value in node.args.items():
        if isinstance(value, list) and (len(value) > 1 or name in {"joins", "laterals"}):
            found += [
                partial(node.set, name, [*value[:i], *value[i + 1 :]]) for i in range(len(value))
            ]
        elif value and name in CLAUSES and (node.parent or name not in {"where", "having"}):
            found.append(partial(node.set, name, None))
    if node.parent is not None and isinstance(node, exp.Condition):
        children = [child for child in node.iter_expressions() if isinstance(child, exp.Condition)]
        found += [partial(node.replace, child) for child in children]
        if not isinstance(node, exp.Literal | exp.Column | exp.Null):
            found.append(partial(node.replace, exp.null()))
    return found


def report(steps: list[Any], trial: Trial, problem: str) -> str:
    """Return a failing case as a script."""
    queries = [trial.sql]
    if trial.check not in {"answer", "count"}:
        queries = parts(trial.sql, "having" if trial.check == "having" else "where")
    return f"check: {trial.check}\n\n{script([*steps, *queries])}\n{problem}"
