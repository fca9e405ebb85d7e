"""The arguments of calls in FROM, read as their functions declare them.

vector_search(docs, emb, $q, k => 10)    rows, places, and arguments by name
advise_bvh('SELECT ...', max_bvhs => 2)  arguments by place or by name
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import pyarrow as pa
from sqlglot import exp

from raydb.errors import Error, NotSupportedError, ProgrammingError, did_you_mean
from raydb.names import find_name
from raydb.planner.catalog import TEMP
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Literal, columns_of, has_subquery
from raydb.planner.expressions.registry import is_volatile, volatile_function
from raydb.planner.expressions.slots import SlotLiteral
from raydb.planner.plan.function_arguments import COLUMN, NAME, ROWS
from raydb.planner.plan.table_function import FunctionCall, SearchFunction
from raydb.sql.ast import Select
from raydb.sql.bind.binding import Binding, context_of, new_column
from raydb.sql.bind.expression.computed import compute_constant
from raydb.sql.bind.expression.expression import bind_condition, bind_expression
from raydb.sql.bind.scope import Scope, ScopeTable, Visible
from raydb.sql.macros import expand_tree
from raydb.sql.parse.parser import parse
from raydb.sql.parse.reader import name_in, tokenize
from raydb.sql.parse.searched_tables import named_argument
from raydb.sql.parse.stored_expressions import scalar_tree
from raydb.sql.template.parameterize import text_slots
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.function_arguments import Argument
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.table_function import TableFunction

    # Binds the table that a function searches.
    BindRows: TypeAlias = Callable[[exp.Expr, Binding], Plan]

# An error lists the names of so many columns.
_MAX_NAMES = 12
_ORDINALS = ("second", "third", "fourth")


def read_call(function: TableFunction, nodes: Sequence[exp.Expr], binding: Binding) -> FunctionCall:
    """Return a call whose arguments are constants, each by its place or by its name.

    Raises ProgrammingError for an argument too many, given twice or missing, NotSupportedError for
    one that is no constant.
    """
    known = function.arguments
    constants: dict[str, Literal] = {}
    for place, node in enumerate(nodes):
        named = None if function.is_positional else named_argument(node)
        if named is not None:
            argument, value = _argument_named(function, known, named[0], constants), named[1]
        elif list(constants) != [argument.name for argument in known[:place]]:
            raise ProgrammingError(f"the arguments of {function.name}() without a name go first")
        elif place >= len(known):
            raise _wrong_count(function, len(nodes))
        else:
            argument, value = known[place], node
        constant = _bare_name(value) if argument.kind is NAME else None
        constants[argument.name] = constant or constant_argument(function.name, value, binding)
    if any(each.is_required and each.name not in constants for each in known):
        raise _wrong_count(function, len(nodes))
    return _call(function, binding, constants)


def read_search(
    function: SearchFunction, nodes: Sequence[exp.Expr], binding: Binding, bind_rows: BindRows
) -> FunctionCall:
    """Return a call of a function that searches a table; `bind_rows` binds its first argument.

    Raises ProgrammingError for arguments that do not fit each other or the rows.
    """
    places, named = function.arguments[: function.places], function.arguments[function.places :]
    unnamed = [node for node in nodes if named_argument(node) is None]
    if len(unnamed) != 1 + len(places) or list(nodes[: len(unnamed)]) != unnamed:
        raise ProgrammingError(f"{function.name}() takes {function.usage}")
    rows, *others = unnamed
    if not isinstance(rows, exp.Table | exp.Subquery):
        usage = "a table, a file or a query in parentheses first" if places else function.usage
        raise ProgrammingError(f"{function.name}() takes {usage}")
    given: dict[str, Expression] = {}
    tables: dict[str, Plan] = {}
    for name, value in filter(None, map(named_argument, nodes)):
        argument = _argument_named(function, named, name, {**given, **tables})
        if argument.kind is not ROWS:
            given[name] = _read_named(function, argument, value, binding)
        elif isinstance(value, exp.Table | exp.Subquery):
            tables[name] = bind_rows(value, binding)
        else:
            raise ProgrammingError(
                f"{name} of {function.name}() is a table, a file or a query in parentheses"
            )
    missing = [each.name for each in named if each.is_required and each.name not in given]
    if missing:
        raise ProgrammingError(f"{function.name}() needs {missing[0]} =>")
    plan = bind_rows(rows, binding)
    columns: dict[str, Column] = {}
    constants: dict[str, Literal] = {}
    varying: dict[str, Expression] = {}
    for name, expression in given.items():
        if not isinstance(expression, Literal):
            varying[name] = expression
        elif function.argument(name).kind is COLUMN:
            place = f"({name} of {function.name}())"
            columns[name] = _column_called(expression.value, place, plan.columns)
        else:
            constants[name] = expression
    for ordinal, argument, node in zip(_ORDINALS, places, others, strict=False):
        if argument.kind is COLUMN:
            columns[argument.name] = _column_at(function, ordinal, node, plan.columns)
        else:
            context = context_of(binding, Scope(), f"{function.name}()")
            varying[argument.name] = bind_expression(node, context)
    call = _call(function, binding, constants)
    bind_text = partial(_bind_text, binding=binding)
    call = replace(call, rows=plan, tables=tables, bind_text=bind_text)
    return replace(call, varying=varying, columns=columns)


def _bind_text(
    given: Literal,
    place: str,
    tables: Mapping[str, Sequence[Column]],
    columns: Sequence[Column],
    binding: Binding,
) -> Expression:
    """Return a condition that is written in a text, whose constants may differ where it may.

    Raises ProgrammingError, which names the place, for a text that is no condition over the tables
    and columns, NotSupportedError for a query in it or a random number.
    """
    scope = Scope(
        tuple(
            ScopeTable(name, tuple((column.name, column) for column in own), name)
            for name, own in tables.items()
        ),
        tuple(Visible(column.name, column, None) for column in columns),
    )
    text = given.text if isinstance(given, SlotLiteral) else given.value
    try:
        if len(tokenize(text)) != 1:
            raise ProgrammingError("it is one condition, such as 'e2.amount < e1.amount'")
        tree = scalar_tree(text)
        for column in tree.find_all(exp.Column):
            if column.table and find_name(column.table, tables, "table") is None:
                near = did_you_mean(column.table, tables) or f"; there are {', '.join(tables)}"
                raise ProgrammingError(f"there is no '{column.table}'{near}")
        alone = replace(
            binding,
            outer=None,
            slots=text_slots(given, tree),
            bind_query=partial(_refuse_query, place),
        )
        condition = bind_condition(tree, context_of(alone, scope, place))
    except Error as error:
        error.position = None
        if place in error.sentence:
            raise
        raise type(error)(f"{place}: {error.sentence}") from None
    if is_volatile(condition):
        raise NotSupportedError(f"{place}: random() is not supported")
    return condition


def _refuse_query(place: str, *_: object) -> NoReturn:
    raise NotSupportedError(f"a subquery in {place} is not supported")


def _call(
    function: TableFunction, binding: Binding, constants: Mapping[str, Literal]
) -> FunctionCall:
    return FunctionCall(
        *(function, binding.catalog, partial(new_column, binding)),
        partial(_view_columns, binding=binding),
        constants,
    )


def _argument_named(
    function: TableFunction, known: Sequence[Argument], name: str, given: Mapping[str, object]
) -> Argument:
    names = [argument.name for argument in known]
    if name not in names:
        near = did_you_mean(name, names) or f"; it takes {', '.join(names)}"
        raise ProgrammingError(f"{function.name}() takes no argument '{name}'{near}")
    if name in given:
        raise ProgrammingError(f"argument '{name}' of {function.name}() is given twice")
    return function.argument(name)


def _wrong_count(function: TableFunction, count: int) -> ProgrammingError:
    least = sum(argument.is_required for argument in function.arguments)
    most = len(function.arguments)
    plural = "" if most == 1 else "s"
    wanted = f"{f'{least} to ' if least < most else ''}{most or 'no'} argument{plural}, not {count}"
    if least == 0 < most:
        wanted = f"at most {most} argument{plural}"
    return ProgrammingError(f"{function.name}() takes {function.usage or wanted}")


def constant_argument(name: str, argument: exp.Expr, binding: Binding) -> Literal:
    """Return the value of a table function's argument, which is computed here and now.

    Raises NotSupportedError for what is no constant.
    """
    context = replace(context_of(binding, Scope(), f"an argument of {name}()"), binding=None)
    expression = bind_expression(argument, context)
    if isinstance(expression, Literal):
        return expression
    if called := volatile_function(expression):
        raise NotSupportedError(f"{called}() in {name}() is not supported")
    if columns_of(expression):
        raise NotSupportedError(f"{name}() of a column is not supported, only of constants")
    return compute_constant(expression, binding)


def _read_named(
    function: SearchFunction, argument: Argument, value: exp.Expr, binding: Binding
) -> Expression:
    """Return a constant, such as a column's name, or what another table or a query gives."""
    name, is_column = f"{argument.name} of {function.name}()", argument.kind is COLUMN
    if is_column and isinstance(value, exp.Column):
        return _bare_name(value) or _raise_no_name(argument.name, name)
    context = context_of(binding, Scope(), f"an argument of {function.name}()")
    try:
        expression = bind_expression(value, context)
    except ProgrammingError as error:
        is_text = argument.kind is not None and argument.kind.name == "a text"
        raise _hint_at_quotes(error, value, name) if is_text else error from None
    is_open = bool(columns_of(expression)) or has_subquery(expression)
    if is_open and is_column:
        _raise_no_name(argument.name, name)
    if not argument.varies and not is_column and (is_open or is_volatile(expression)):
        raise NotSupportedError(
            f"{name} is a constant, the same for all rows, not {describe(expression)}"
        )
    if called := volatile_function(expression):
        raise NotSupportedError(f"{called}() in {function.name}() is not supported")
    if is_open:
        return expression
    if not isinstance(expression, Literal):
        expression = compute_constant(expression, binding)
    if function.refuses_null and expression.is_null:
        raise ProgrammingError(f"{name} is NULL")
    if is_column and not isinstance(expression.value, str):
        raise ProgrammingError(f"{name} is a text, not {describe(expression)}")
    return expression


def _raise_no_name(argument: str, name: str) -> NoReturn:
    raise ProgrammingError(
        f"{name} is the name of a column of its rows, such as {argument} => 'payer'; another table "
        "cannot give it"
    )


def _bare_name(node: exp.Expr) -> Literal | None:
    """Return a name without quotes and without a table as a text, None for anything else."""
    if isinstance(node, exp.Column) and node.args.get("table") is None:
        return Literal(name_in(node.this), pa.string())
    return None


def _hint_at_quotes(error: ProgrammingError, value: exp.Expr, name: str) -> ProgrammingError:
    """Return an error about a word that is no column, and is meant as a text."""
    if not isinstance(value, exp.Column | exp.Anonymous) or value.args.get("table") is not None:
        return error
    hinted = ProgrammingError(f"{error.sentence}; {name} is a text in quotes")
    hinted.position = error.position
    return hinted


def _column_at(
    function: SearchFunction, ordinal: str, node: exp.Expr, columns: Sequence[Column]
) -> Column:
    """Return the column of the rows that an argument without a name names."""
    name = _bare_name(node)
    if name is None:
        raise ProgrammingError(
            f"{function.name}() takes the name of a column {ordinal}, without quotes and without a "
            "table"
        )
    return _column_called(name.value, f"of {function.name}()", columns)


def _column_called(name: str, place: str, columns: Sequence[Column]) -> Column:
    """Return the column of a name."""
    names = [column.name for column in columns]
    made = find_name(name, names, "column")
    found = [column for column in columns if column.name == made]
    if not found:
        few = f"; the columns are {', '.join(names)}" if 0 < len(names) <= _MAX_NAMES else ""
        near = did_you_mean(name, names) or few
        raise ProgrammingError(f"column '{name}' {place} does not exist{near}")
    if len(found) > 1:
        raise ProgrammingError(f"column '{name}' {place} is there twice")
    return found[0]


def _view_columns(view: str, binding: Binding) -> Sequence[Column]:
    """Return the columns of a view; none of one that is broken, or that reads files."""
    (select,) = parse(binding.catalog.views[view])
    assert isinstance(select, Select), "a view holds a query"
    place = binding.catalog.relations.place_of(view)
    inside = None if place[0] == TEMP else place
    alone = replace(binding, parameters={}, queries={}, views=(view,), outer=None, inside=inside)
    try:
        tree = expand_tree(select.tree, binding.catalog.relations, inside)
        return alone.bind_query(tree, alone).columns
    except Error:
        return ()
