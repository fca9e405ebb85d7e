"""MERGE: the rows of a source and of the table that it is merged into, and what becomes of them.

joined     the source beside the table, LEFT, RIGHT or FULL as the WHENs ask for
decided    the same with the number of the first WHEN that holds, shared by
actions    one plan for each WHEN that does something, over the rows that it is for
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.planner.expressions.nodes import Call, Column, conjuncts, substitute
from raydb.planner.expressions.nodes import Literal as Constant
from raydb.planner.expressions.types import BOOLEAN, TEXT
from raydb.planner.expressions.typing_rules import cast, choose, compare
from raydb.planner.plan.nodes import (
    CommonTable,
    Filter,
    InnerJoin,
    OuterJoin,
    Plan,
    Project,
    Scan,
    Union,
)
from raydb.sql.bind.binding import Binding, context_of, new_column, renumbered, table_columns
from raydb.sql.bind.expression.expression import bind_condition, bind_expression
from raydb.sql.bind.query.from_clause import bind_from
from raydb.sql.bind.query.query import statement_binding
from raydb.sql.bind.query.using import bind_using, named_pairs
from raydb.sql.bind.query.with_clause import with_queries
from raydb.sql.bind.scope import Scope, Visible, join_scopes, merge_columns
from raydb.sql.bind.statements.assignment import (
    assign,
    check_chosen,
    given_field,
    target_definition,
)
from raydb.sql.bind.statements.generated import with_generated
from raydb.sql.bind.statements.insert import bind_merged_row
from raydb.sql.bind.statements.returning import bind_returning, written_target
from raydb.sql.bind.statements.update_delete import bind_assignments
from raydb.sql.parse.nodes import require_only
from raydb.sql.parse.reader import name_in
from raydb.storage.tables.table import ROW_NUMBER
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression
    from raydb.sql.ast import Merge
    from raydb.sql.template.parameters import Parameters
    from raydb.storage.tables.table import TableDefinition

ACTION = "merge_action"
"""What RETURNING calls the word INSERT, UPDATE or DELETE of a row."""

_Case = Literal["matched", "not matched", "not matched by source"]


@dataclass(frozen=True, slots=True)
class _Sides:
    """The rows of both sides: what each has of columns and names, and what they have together.

    `number` is that of the table's row, NULL where there is none; `present` is true in the rows
    of the source.
    """

    own: Scope
    source: Scope
    both: Scope
    columns: tuple[Column, ...]
    number: Column
    present: Column

    def scope(self, case: _Case) -> Scope:
        """Return the names of a WHEN: a side that has no row there has none either."""
        return {"matched": self.both, "not matched": self.source}.get(case, self.own)

    def over(self, columns: Mapping[Column, Column]) -> _Sides:
        """Return the sides with other columns in the place of theirs."""
        given = dict(columns)
        return replace(
            self,
            own=_over(self.own, given),
            source=_over(self.source, given),
            both=_over(self.both, given),
            columns=tuple(columns[column] for column in self.columns),
            number=columns[self.number],
            present=columns[self.present],
        )


def _over(scope: Scope, columns: Mapping[Column, Expression]) -> Scope:
    tables = tuple(
        replace(
            table,
            columns=tuple((name, columns[_column(each)]) for name, each in table.columns),
            row_id=None if table.row_id is None else substitute(table.row_id, columns),
        )
        for table in scope.tables
    )
    visible = tuple(
        replace(each, expression=substitute(each.expression, columns)) for each in scope.visible
    )
    return Scope(tables, visible)


def _column(expression: Expression) -> Column:
    assert isinstance(expression, Column)
    return expression


def bind_merge(merge: Merge, catalog: CatalogInfo, parameters: Parameters = ()) -> Plan:
    """Return a plan of the rows that are written, each as often as a WHEN writes it.

    Its columns are the word of the action, the number of the table's row (NULL for a new one), the
    table's columns as they will be (of a deleted row as they are), and those of RETURNING. Raises
    ProgrammingError for an action that a WHEN cannot have, and as INSERT, UPDATE and DELETE do.
    """
    tree = merge.tree
    require_only(tree, "this", "using", "on", "using_cond", "whens", "returning", "with_")
    whens = tree.args["whens"].expressions
    _check_whens(whens)
    definition = target_definition(merge.table, catalog)
    with statement_binding(tree, catalog, parameters) as outer:
        binding = with_queries(tree, outer)
        joined, sides = _bind_sides(merge, definition, binding)
        decision = new_column(binding, "when", pa.int32())
        items = ((column, column) for column in joined.columns)
        decided = Project(joined, (*items, (decision, _decide(whens, sides, binding))))
        number = next(binding.numbers)
        acting = [each for each in enumerate(whens) if _word(each[1]) != "DO NOTHING"]
        actions = []
        # Where none writes there are no rows, but their columns are the same.
        for place, when in acting or [(-1, whens[0])]:
            columns = renumbered(decided.columns, binding)
            shared = CommonTable(number, "merge", decided, columns, materialized=True)
            renamed = dict(zip(decided.columns, columns, strict=True))
            taken = compare("equal", renamed[decision], Constant(place, decision.type))
            rows = Filter(shared, taken)
            there = sides.over(renamed)
            actions.append(_act(when, tree, _Rows(rows, there, definition), binding))
        first = actions[0].columns
        return Union(tuple(actions), renumbered(first, binding))


def _check_whens(whens: Sequence[exp.Expr]) -> None:
    """Raise ProgrammingError for a WHEN that never holds, or has an action that makes no sense."""
    closed: set[_Case] = set()
    for when in whens:
        require_only(when, "matched", "source", "condition", "then")
        case = _case(when)
        clause = f"WHEN {case.upper()}"
        if case in closed:
            raise ProgrammingError(f"a {clause} without a condition stands before another one")
        if when.args.get("condition") is None:
            closed.add(case)
        word = _word(when)
        if (word == "INSERT" and case != "not matched") or (
            word in ("UPDATE", "DELETE") and case == "not matched"
        ):
            raise ProgrammingError(f"{clause} cannot {word}")


def _case(when: exp.Expr) -> _Case:
    if when.args.get("matched"):
        return "matched"
    return "not matched by source" if when.args.get("source") else "not matched"


def _word(when: exp.Expr) -> str:
    """Return UPDATE, INSERT, DELETE, DO NOTHING or ERROR."""
    match when.args["then"]:
        case exp.Var(name=word):
            return str(word)
        case exp.Anonymous():
            return "ERROR"
        case action:
            return str(action.key.upper())


def action_words(tree: exp.Expr) -> Mapping[str, str]:
    """Return the actions of a MERGE by what their WHEN is for, in the order of the WHENs."""
    words: dict[str, str] = {}
    for when in tree.args["whens"].expressions:
        case = f"when {_case(when)}"
        words[case] = f"{words[case]}, {_word(when)}" if case in words else _word(when)
    return words


def _bind_sides(merge: Merge, definition: TableDefinition, binding: Binding) -> tuple[Plan, _Sides]:
    """Return the rows of both sides beside each other, as far as a WHEN is for them."""
    tree = merge.tree
    columns = table_columns(binding.numbers, definition.schema)
    number = new_column(binding, ROW_NUMBER, pa.int32())
    target = Scan(merge.table, (*columns, number))
    own = written_target(tree.this, merge.table, binding.catalog).scope(columns, row_number=number)
    found = bind_from(exp.From(this=tree.args["using"].copy()), [], binding)
    present = new_column(binding, "present", BOOLEAN)
    items = ((column, column) for column in found.plan.columns)
    source = Project(found.plan, (*items, (present, Constant(True, BOOLEAN))))
    both = join_scopes(own, found.scope)
    if (names := tree.args.get("using_cond")) is not None:
        pairs = named_pairs([name_in(each) for each in names], own, found.scope)
        on, merged = bind_using(pairs, None)
        both = merge_columns(both, merged, [each for pair in pairs for each in pair])
    else:
        condition = bind_condition(tree.args["on"], context_of(binding, both, "MERGE ... ON"))
        on = list(conjuncts(condition))
    sides = _Sides(own, found.scope, both, columns, number, present)
    cases = {_case(when) for when in tree.args["whens"].expressions}
    keeps_source, keeps_target = "not matched" in cases, "not matched by source" in cases
    if not (keeps_source or keeps_target):
        return InnerJoin((source, target), tuple(on)), sides
    kind: Literal["left", "right", "full"] = "full" if keeps_source and keeps_target else "left"
    left, right = (source, target) if keeps_source else (target, source)
    return OuterJoin(kind, left, right, tuple(on)), sides


def _decide(whens: Sequence[exp.Expr], sides: _Sides, binding: Binding) -> Expression:
    """Return the number of the first WHEN that holds for a row, NULL where none does."""
    no_target, no_source = (
        Call("is_null", (column,), BOOLEAN) for column in (sides.number, sides.present)
    )
    both = tuple(Call("not", (missing,), BOOLEAN) for missing in (no_target, no_source))
    of_case: dict[_Case, Expression] = {
        "matched": Call("and", both, BOOLEAN),
        "not matched": no_target,
        "not matched by source": no_source,
    }
    conditions: list[Expression] = []
    for when in whens:
        case = _case(when)
        holds = of_case[case]
        if (written := when.args.get("condition")) is not None:
            context = context_of(binding, sides.scope(case), "WHEN")
            holds = Call("and", (holds, bind_condition(written, context)), BOOLEAN)
        conditions.append(holds)
    numbers = [Constant(place, pa.int32()) for place in range(len(whens))]
    return choose(conditions, (*numbers, Constant(None, pa.int32())))


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows that a WHEN is for, of both sides, and the table that it writes to."""

    plan: Plan
    sides: _Sides
    definition: TableDefinition


def _act(when: exp.Expr, tree: exp.Expr, rows: _Rows, binding: Binding) -> Plan:
    """Return what a WHEN writes: the columns of `bind_merge`."""
    sides, word = rows.sides, _word(when)
    action: Expression = Constant(word, TEXT)
    values: Sequence[Expression] = sides.columns
    number: Expression = sides.number
    match word:
        case "INSERT":
            values = _inserted(when, rows, binding)
            number = Constant(None, number.type)
        case "UPDATE":
            values = _updated(when, rows, binding)
        case "ERROR":
            context = context_of(binding, sides.scope(_case(when)), "WHEN")
            action = cast(bind_expression(when.args["then"], context), TEXT)
    after = table_columns(binding.numbers, rows.definition.schema)
    done = new_column(binding, ACTION, TEXT)
    written = new_column(binding, ROW_NUMBER, sides.number.type)
    items = ((done, action), (written, number), *zip(after, values, strict=True))
    returns = tree.args.get("returning") is not None
    passed = ((column, column) for column in rows.plan.columns) if returns else ()
    changed = None if word in ("INSERT", "UPDATE") else ()
    plan, after = with_generated(
        Project(rows.plan, (*items, *passed)), after, rows.definition, binding, changed
    )
    own = _over(sides.own, dict(zip(sides.columns, after, strict=True)))
    scope = Scope(own.tables + sides.source.tables, own.visible)
    # A column of the source needs its qualifier where the table has one of that name.
    others = (each for each in sides.source.visible if not own.index.places(each.name))
    returning = bind_returning(tree, scope, binding, (Visible(ACTION, done, None), *others))
    if not returning:
        return plan
    kept = tuple((column, column) for column in (done, written, *after))
    return Project(plan, (*kept, *returning))


def _inserted(when: exp.Expr, rows: _Rows, binding: Binding) -> Sequence[Expression]:
    source = rows.sides.scope(_case(when))
    context = context_of(binding, source, "INSERT")
    return bind_merged_row(when.args["then"], rows.definition, source, context)


def _updated(when: exp.Expr, rows: _Rows, binding: Binding) -> Sequence[Expression]:
    definition, sides = rows.definition, rows.sides
    nodes = when.args["then"].expressions
    names = definition.given_schema.names
    if not isinstance(nodes[0], exp.EQ) and _case(when) == "not matched by source":
        raise ProgrammingError("WHEN NOT MATCHED BY SOURCE THEN UPDATE needs SET column = value")
    match nodes:
        case [exp.Star()]:
            found = [each.expression for each in sides.source.visible]
            if len(found) != len(names):
                raise ProgrammingError(
                    f"the source of MERGE has {len(found)} columns, but UPDATE of all columns of"
                    f" '{definition.name}' needs {len(names)}"
                )
            values = _given(definition, zip(names, found, strict=True))
        case [exp.Var(name="NAME")]:
            named = ((each.name, each.expression) for each in sides.source.visible)
            values = _given(definition, named)
        case _:
            values = bind_assignments(nodes, definition, sides.scope(_case(when)), binding)
    old = zip(definition.schema.names, sides.columns, strict=True)
    return [values.get(name, column) for name, column in old]


def _given(
    definition: TableDefinition, named: Iterable[tuple[str, Expression]]
) -> dict[str, Expression]:
    """Return the values that columns of the source give to those of the table."""
    values = {}
    for name, value in named:
        field = given_field(definition, name)
        check_chosen(definition, field.name)
        values[field.name] = assign(value, field)
    return values
