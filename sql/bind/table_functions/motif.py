"""motif_count(rows, src => ...) and motif_sample(rows, ..., n => 10): calls in FROM to a plan.

    FROM motif_count(transfers, src => 's', dst => 'd', time => 't',
                     motif => 'a->b, b->c, c->a', delta => INTERVAL 1 DAY)
    FROM motif_sample((SELECT * FROM transfers WHERE amount > 1e4), ..., n => 3)
    FROM patterns p, LATERAL motif_count(transfers, ..., motif => p.text, delta => p.delta)

motif_count() gives one row, motif_sample() one for each instance: its vertices by their names, and
the rows of its edges. Both give them for each row of the tables before it that they read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.planner.expressions.functions import is_volatile
from raydb.planner.expressions.nodes import Literal as Constant
from raydb.planner.expressions.nodes import columns_of, has_subquery
from raydb.planner.plan.logical import MotifSearch, Plan, Values, output_columns
from raydb.sql.bind.binding import Binding, context_of, new_column
from raydb.sql.bind.expression.computed import compute_constant
from raydb.sql.bind.expression.expression import bind_expression
from raydb.sql.bind.scope import Scope
from raydb.sql.bind.table_functions.file_functions import hint_at_quotes, named_argument
from raydb.sql.bind.table_functions.motif_question import TIME_UNITS, make_question
from raydb.sql.parse.reader import fold
from raydb.sql.parse.searched_tables import name_columns
from raydb.sql.types import is_integer, is_interval, is_list
from raydb.sql.typing_rules import describe, unify
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.logical import MotifQuestion

_REQUIRED = ("src", "dst", "time", "motif", "delta")
_OPTIONAL = ("rel_error", "confidence", "ties", "method", "seed", "max_seconds")
# Those that name a column of the rows.
_ENDS = ("src", "dst", "time")

# Those that are texts.
_TEXTS = ("motif", "ties", "method")

# In the order of the row; the engine makes them by name.
COUNT_COLUMNS = (
    ("estimate", pa.float64()),
    ("std_error", pa.float64()),
    ("ci_low", pa.float64()),
    ("ci_high", pa.float64()),
    ("exact", pa.bool_()),
    ("converged", pa.bool_()),
    ("samples", pa.int64()),
    ("nonzero", pa.int64()),
    ("method", pa.string()),
    ("tree", pa.string()),
    ("total_weight", pa.float64()),
    ("seconds", pa.float64()),
    ("count", pa.int64()),
    ("edges", pa.int64()),
    ("vertices", pa.int64()),
    ("skipped_rows", pa.int64()),
    ("duplicates", pa.int64()),
    ("self_loops", pa.int64()),
)


def bind_motif_search(
    call: exp.Anonymous, binding: Binding, bind_rows: Callable[[exp.Expr, Binding], Plan]
) -> MotifSearch:
    """Return the search that a call asks for; `bind_rows` binds the first argument.

    Raises ProgrammingError for arguments that do not fit each other or the rows.
    """
    function = call.name.lower()
    rows, *others = call.expressions or [None]
    if not isinstance(rows, exp.Table | exp.Subquery) or None in map(named_argument, others):
        raise ProgrammingError(
            f"{function}() takes a table, a file or a query in parentheses; what follows is named, "
            "such as src => 'payer'"
        )
    arguments = _Arguments.of(function, others, binding)
    plan = bind_rows(rows, binding)
    columns = output_columns(plan)
    source, target, time = (_column(name, arguments, columns) for name in _ENDS)
    for end in (source, target):
        if is_list(end.type) or is_interval(end.type):
            raise NotSupportedError(
                f"column '{end.name}' of {function}() is {sql_type_name(end.type)}, and vertices "
                "of that type are not supported"
            )
    try:
        ends = unify((source, target), "compare")
    except ProgrammingError as error:
        raise ProgrammingError(f"src and dst of {function}(): {error.sentence}") from None
    if not is_integer(time.type) and time.type not in TIME_UNITS:
        raise ProgrammingError(
            f"column '{time.name}' of {function}() is {sql_type_name(time.type)}; times are "
            "integers, TIMESTAMP or DATE"
        )
    question = make_question(function, arguments.constants, arguments.varying, time)
    found: Sequence[tuple[str, pa.DataType]] = COUNT_COLUMNS
    if question.sample_count is not None:
        found = _sample_columns(question, ends[0].type, time.type)
    made = tuple(new_column(binding, name, kind) for name, kind in found)
    return MotifSearch(
        *(Values((), ((),)), plan, (ends[0], ends[1]), time, question),
        *(tuple(arguments.varying.items()), made),
        notes=_without_effect(arguments, question),
    )


def _without_effect(arguments: _Arguments, question: MotifQuestion) -> tuple[str, ...]:
    """Return a sentence for each argument that is given and makes no difference."""
    function, given = arguments.function, {*arguments.constants, *arguments.varying}
    if function == "motif_sample":
        why = "motif_sample() gives instances and no estimate"
    elif question.method == "exact" and "method" in arguments.constants:
        why = "method => 'exact' counts every instance"
    else:
        return ()
    names = [name for name in ("rel_error", "confidence") if name in given]
    return tuple(f"{name} of {function}() has no effect: {why}" for name in names)


def _sample_columns(
    question: MotifQuestion, vertex: pa.DataType, time: pa.DataType
) -> list[tuple[str, pa.DataType]]:
    """Return the columns of motif_sample(): one for each vertex and for each edge, and others."""
    edges = [f"e{number}_row" for number in range(1, len(question.motif.edges) + 1)]
    others = ("instance", *edges, "first_time", "last_time")
    taken = [name for name in question.names if name in others]
    if taken:
        raise ProgrammingError(
            f"motif of motif_sample(): a vertex cannot be called '{taken[0]}', which is another "
            "column of the result"
        )
    return [
        ("instance", pa.int64()),
        *((name, vertex) for name in question.names),
        *((edge, pa.int64()) for edge in edges),
        ("first_time", time),
        ("last_time", time),
    ]


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The named arguments of a call: names of columns, constants, and what differs by row."""

    function: str
    columns: Mapping[str, str]
    constants: Mapping[str, Constant]
    varying: Mapping[str, Expression]

    @staticmethod
    def of(function: str, given: Sequence[exp.Expr], binding: Binding) -> _Arguments:
        """Read the arguments; raises ProgrammingError for one too many, twice or missing."""
        known = (*_REQUIRED, *_OPTIONAL, *(("n",) if function == "motif_sample" else ()))
        columns: dict[str, str] = {}
        constants: dict[str, Constant] = {}
        varying: dict[str, Expression] = {}
        for argument in given:
            named = named_argument(argument)
            assert named is not None
            name, value = named
            if name not in known:
                near = did_you_mean(name, known) or f"; it takes {', '.join(known)}"
                raise ProgrammingError(f"{function}() takes no argument '{name}'{near}")
            if name in columns or name in constants or name in varying:
                raise ProgrammingError(f"argument '{name}' of {function}() is given twice")
            if name in _ENDS:
                columns[name] = _column_name(function, name, value, binding)
                continue
            expression = _value_of(name, function, value, binding)
            if not isinstance(expression, Constant):
                varying[name] = expression
            elif expression.is_null:
                raise ProgrammingError(f"{name} of {function}() is NULL")
            else:
                constants[name] = expression
        there = {*columns, *constants, *varying}
        missing = [name for name in _REQUIRED if name not in there]
        if missing:
            raise ProgrammingError(f"{function}() needs {missing[0]} =>")
        return _Arguments(function, columns, constants, varying)


def _column_name(function: str, argument: str, value: exp.Expr, binding: Binding) -> str:
    """Return the name of a column of the rows, which is written as a name or as a text."""
    if isinstance(value, exp.Column) and value.args.get("table") is None:
        return fold(value.this)
    expression = _value(function, value, binding) if not isinstance(value, exp.Column) else None
    if not isinstance(expression, Constant):
        raise ProgrammingError(
            f"{argument} of {function}() is the name of a column of its rows, such as "
            f"{argument} => 'payer'; another table cannot give it"
        )
    if expression.is_null:
        raise ProgrammingError(f"{argument} of {function}() is NULL")
    if not isinstance(expression.value, str):
        raise ProgrammingError(f"{argument} of {function}() is a text, not {describe(expression)}")
    return expression.value


def _value_of(name: str, function: str, value: exp.Expr, binding: Binding) -> Expression:
    """Return the value of an argument; a word without quotes where a text belongs is an error."""
    try:
        return _value(function, value, binding)
    except ProgrammingError as error:
        raise hint_at_quotes(error, value, name, function) if name in _TEXTS else error from None


def _value(function: str, value: exp.Expr, binding: Binding) -> Expression:
    """Return the value of an argument: a constant, or what another table or a query gives."""
    context = context_of(binding, Scope(), f"an argument of {function}()")
    expression = bind_expression(value, context)
    if isinstance(expression, Constant):
        return expression
    if is_volatile(expression):
        raise NotSupportedError(f"random() in {function}() is not supported")
    if columns_of(expression) or has_subquery(expression):
        return expression
    return compute_constant(expression, binding)


def _column(argument: str, arguments: _Arguments, columns: Sequence[Column]) -> Column:
    """Return the column of the rows that an argument names."""
    name = arguments.columns[argument]
    found = [each for each in columns if each.name == name]
    found = found or [each for each in columns if each.name == name.lower()]
    if not found:
        near = name_columns(name, [column.name for column in columns])
        raise ProgrammingError(
            f"column '{name}' ({argument} of {arguments.function}()) does not exist{near}"
        )
    if len(found) > 1:
        raise ProgrammingError(
            f"column '{name}' ({argument} of {arguments.function}()) is there twice"
        )
    return found[0]
