"""Many runs of one statement, each with parameters of its own, as one: INSERT, UPDATE, DELETE.

INSERT INTO t VALUES (?, ?)          INSERT INTO t SELECT "1", "2" FROM runs
UPDATE t SET a = ? WHERE id = ?      UPDATE t SET a = runs."1" FROM runs WHERE id = runs."2"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.planner.expressions.nodes import Call, columns_of, conjuncts
from raydb.planner.plan.nodes import Filter, InnerJoin, Plan, Project, Scan
from raydb.sql.ast import Delete, Dml, InPlace, Insert, Select, Update, WithChanges
from raydb.sql.bind.binding import new_column
from raydb.sql.bind.query.query import statement_binding
from raydb.sql.bind.statements.update_delete import bind_assignments, bind_matching
from raydb.sql.parse.nodes import nodes_of
from raydb.sql.template.parameters import parameter_key
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.sql.ast import Statement
    from raydb.sql.bind.statements.update_delete import Matching
    from raydb.sql.template.parameter_rows import ParameterRows

MATCHED_ROWS = "matched rows"
"""The table that the new values of an UPDATE are computed from."""

_RUNNABLE = ("this", "expressions", "where")


def parameters_of(statement: Statement) -> frozenset[str]:
    """Return the names or numbers of a statement's parameters."""
    match statement:
        case WithChanges(parts=parts, last=last):
            statements = [*(part.statement for part in parts), last]
            return frozenset().union(*map(parameters_of, statements))
        case InPlace(statement=inner):
            return parameters_of(inner)
        case _ if not isinstance(statement, Select | Dml):
            return frozenset()
    nodes = nodes_of(statement.tree, exp.Parameter, exp.Placeholder)
    return frozenset(map(parameter_key, nodes))


def may_run_at_once(statement: Statement) -> bool:
    """Say whether runs of a statement do not read what the runs before them have written."""
    if isinstance(statement, InPlace):
        return may_run_at_once(statement.statement)
    if not isinstance(statement, Insert | Update | Delete):
        return False
    tree = statement.tree
    if tree.find(exp.Query, exp.Subquery) is not None:
        return False
    if not isinstance(statement, Insert):
        written = {name for name, value in tree.args.items() if value}
        return written <= {*_RUNNABLE} and "where" in written
    rows = tree.expression
    if not isinstance(rows, exp.Values) or len(rows.expressions) != 1 or tree.args.get("by_name"):
        return False
    others = [rows.args.get(name) for name in ("with_", "order", "limit", "offset")]
    others += [tree.args.get("with_")]
    clauses = [each for name in ("conflict", "returning") if (each := tree.args.get(name))]
    has_parameters = any(each.find(exp.Parameter, exp.Placeholder) for each in clauses)
    return not (any(others) or has_parameters)


@dataclass(frozen=True, slots=True)
class BoundRuns:
    """UPDATE or DELETE of many runs. matches: a plan of the row numbers and the runs that match.

    rows: for UPDATE a plan of the new rows, over MATCHED_ROWS: the table's columns, then those of
    the parameters. repeats: whether a row may be changed by several runs, the last of which counts.
    """

    matches: Plan
    rows: Plan | None
    repeats: bool


def bind_runs(
    statement: Update | Delete, catalog: CatalogInfo, parameters: ParameterRows
) -> BoundRuns | None:
    """Bind the runs of a statement as one; None where no equation finds the rows of a run.

    None also where a run may see what one before it has written. Raises what a single run does.
    """
    with statement_binding(statement.tree, catalog, parameters) as binding:
        matching = bind_matching(statement, None, binding)
        assert isinstance(matching.plan, Filter)
        condition = matching.plan.predicate
        values: dict[str, Expression] = {}
        if isinstance(statement, Update):
            scope = matching.scope(matching.columns)
            values = bind_assignments(
                statement.tree.expressions, matching.definition, scope, binding
            )
        assigned = {column for column in matching.columns if column.name in values}
        if not _is_found(condition, matching) or assigned & columns_of(condition):
            return None
        run, scan = parameters.run(), parameters.scan()
        taken = {column.name for column in matching.columns}
        if taken & {column.name for column in scan.columns}:
            return None
        pairs = Filter(InnerJoin((matching.plan.source, scan), ()), condition)
        matches = Project(pairs, ((matching.number, matching.number), (run, run)))
        if not isinstance(statement, Update):
            return BoundRuns(matches, None, repeats=True)
        items = tuple(
            (new_column(binding, column.name, column.type), values.get(column.name, column))
            for column in matching.columns
        )
        rows = Project(Scan(MATCHED_ROWS, (*matching.columns, *scan.columns)), items)
        repeats = not any(assigned & columns_of(value) for value in values.values())
        return BoundRuns(matches, rows, repeats)


def _is_found(condition: Expression, matching: Matching) -> bool:
    """Say whether an equation of columns of the table and parameters must hold."""
    own = {*matching.columns}
    return any(
        isinstance(part, Call) and part.function == "equal" and _joins(part.arguments, own)
        for part in conjuncts(condition)
    )


def _joins(sides: Sequence[Expression], own: set[Column]) -> bool:
    left, right = map(columns_of, sides)
    return any(
        bool(ours) and bool(theirs) and ours <= own and not theirs & own
        for ours, theirs in ((left, right), (right, left))
    )
