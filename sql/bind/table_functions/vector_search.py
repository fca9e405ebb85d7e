"""vector_search(rows, column, query, k => 10, ...): a call in FROM to a plan.

    FROM vector_search(docs, emb, $q, k => 10, nprobe => 16)
    FROM vector_search((SELECT * FROM docs WHERE lang = 'en'), emb, $q)
    FROM queries q, LATERAL vector_search(docs, emb, q.emb, k => 10, fnr => 0.1) d

The rows are the columns of the first argument, and then rank, distance, probes and guarantee.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.kernels.vector.stop_rule import SCORES
from raydb.planner.expressions.functions import is_volatile
from raydb.planner.expressions.nodes import Column, Expression, Literal, columns_of, has_subquery
from raydb.planner.plan.logical import (
    Plan,
    SearchOptions,
    Values,
    VectorSearch,
    output_columns,
)
from raydb.sql.bind.binding import Binding, context_of, new_column
from raydb.sql.bind.expression.computed import compute_constant
from raydb.sql.bind.expression.expression import bind_expression
from raydb.sql.bind.expression.literals import is_bare_string
from raydb.sql.bind.scope import Scope
from raydb.sql.bind.table_functions.file_functions import hint_at_quotes, named_argument
from raydb.sql.parse.reader import fold
from raydb.sql.parse.searched_tables import name_columns
from raydb.sql.types import is_list, is_number
from raydb.sql.typing_rules import cast, describe, explicit_cast
from raydb.storage.tables.constraints import is_vector
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_Word = TypeVar("_Word", bound=str)

_NAME = "vector_search"
_NAMED = ("k", "nprobe", "exact", "metric", "fnr", "score")
_METRICS = ("l2", "cosine", "ip")
# The arguments that are texts.
_WORDS = ("metric", "score")
DEFAULT_K = 10

_FOUND = (
    ("rank", pa.int64()),
    ("distance", pa.float64()),
    ("probes", pa.int64()),
    ("guarantee", pa.string()),
)


def bind_vector_search(
    call: exp.Anonymous, binding: Binding, bind_rows: Callable[[exp.Expr, Binding], Plan]
) -> VectorSearch:
    """Return a search for one query vector; `bind_rows` binds the first argument.

    Raises ProgrammingError for arguments that do not fit each other.
    """
    places = [each for each in call.expressions if named_argument(each) is None]
    if len(places) != 3 or call.expressions[:3] != places:
        raise ProgrammingError(
            f"{_NAME}() takes a table, a file or a query in parentheses, a column of it and a "
            "vector; what follows is named, such as k => 10"
        )
    options = _options(call.expressions[3:], binding)
    rows, column, query = places
    if not isinstance(rows, exp.Table | exp.Subquery):
        raise ProgrammingError(f"{_NAME}() takes a table, a file or a query in parentheses first")
    plan = bind_rows(rows, binding)
    vector = _column(column, output_columns(plan))
    context = context_of(binding, Scope(), f"{_NAME}()")
    target = _as_vector(bind_expression(query, context), vector)
    found = tuple(new_column(binding, name, kind) for name, kind in _FOUND)
    return VectorSearch(Values((), ((),)), plan, target, vector, options, found)


def _column(node: exp.Expr, columns: Sequence[Column]) -> Column:
    """Return the column of the rows to search in."""
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        raise ProgrammingError(
            f"{_NAME}() takes the name of a column second, without quotes and without a table"
        )
    name = fold(node.this)
    found = [column for column in columns if column.name == name]
    if not found:
        names = [column.name for column in columns]
        raise ProgrammingError(
            f"column '{name}' of {_NAME}() does not exist{name_columns(name, names)}"
        )
    if len(found) > 1:
        raise ProgrammingError(f"column '{name}' of {_NAME}() is there twice")
    if pa.types.is_list(found[0].type):
        raise ProgrammingError(
            f"column '{name}' of {_NAME}() is {sql_type_name(found[0].type)}, whose lists may "
            "differ in length; vectors are FLOAT[n] or DOUBLE[n]"
        )
    if not is_vector(found[0].type):
        raise ProgrammingError(
            f"column '{name}' of {_NAME}() is {sql_type_name(found[0].type)}, "
            "not FLOAT[n] or DOUBLE[n]"
        )
    return found[0]


def _as_vector(query: Expression, vector: Column) -> Expression:
    """Return the query vector as FLOAT[n], of the length of the column's."""
    width = vector.type.list_size
    wanted = pa.list_(pa.float32(), width)
    kind = query.type
    if isinstance(query, Literal) and query.is_null:
        return Literal(None, wanted)
    if is_bare_string(query):  # '[1, 2]', as in INSERT
        return explicit_cast(query, wanted)
    if not is_numbers(kind):
        raise ProgrammingError(f"{_NAME}() needs a vector, not {describe(query)}")
    target = cast(query, wanted)
    if pa.types.is_fixed_size_list(kind):
        length = kind.list_size
    elif isinstance(query, Literal) and not isinstance(target, Literal):
        length = len(query.value)
    else:
        return target
    if length != width:
        raise ProgrammingError(
            f"column '{vector.name}' of {_NAME}() has vectors of {width} numbers, "
            f"the query has {length}"
        )
    return target


def is_numbers(kind: pa.DataType) -> bool:
    """Say whether a type is a list of numbers, or of nothing but NULLs."""
    return is_list(kind) and (is_number(kind.value_type) or pa.types.is_null(kind.value_type))


def _options(arguments: Sequence[exp.Expr], binding: Binding) -> SearchOptions:
    given: dict[str, object] = {}
    for argument in arguments:
        named = named_argument(argument)
        assert named is not None
        name, value = named
        if name not in _NAMED:
            near = did_you_mean(name, _NAMED) or f"; it takes {', '.join(_NAMED)}"
            raise ProgrammingError(f"{_NAME}() takes no argument '{name}'{near}")
        if name in given:
            raise ProgrammingError(f"argument '{name}' of {_NAME}() is given twice")
        given[name] = _constant(name, value, binding)
    k = _count("k", given, DEFAULT_K)
    assert k is not None
    exact = given.get("exact", False)
    if not isinstance(exact, bool):
        raise ProgrammingError(f"exact of {_NAME}() is true or false, not {_shown(exact)}")
    metric = _word("metric", given, _METRICS, "'l2', 'cosine' or 'ip'")
    score = _word("score", given, SCORES, "'ratio' or 'kth'")
    ways = {"nprobe": "nprobe" in given, "exact => true": exact, "fnr": "fnr" in given}
    chosen = [way for way, is_chosen in ways.items() if is_chosen]
    if len(chosen) > 1:
        raise ProgrammingError(f"{_NAME}() takes {chosen[0]} or {chosen[1]}, not both")
    if score is not None and "fnr" not in given:
        raise ProgrammingError(f"score of {_NAME}() goes with fnr")
    return SearchOptions(k, _count("nprobe", given, None), exact, metric, _share(given), score)


def _constant(name: str, value: exp.Expr, binding: Binding) -> object:
    """Return the value of an option, which no row of another table can give."""
    context = context_of(binding, Scope(), f"an argument of {_NAME}()")
    try:
        expression = bind_expression(value, context)
    except ProgrammingError as error:
        raise hint_at_quotes(error, value, name, _NAME) if name in _WORDS else error from None
    if columns_of(expression) or has_subquery(expression) or is_volatile(expression):
        raise NotSupportedError(
            f"{name} of {_NAME}() is a constant, the same for all rows, not {describe(expression)}"
        )
    if not isinstance(expression, Literal):
        expression = compute_constant(expression, binding)
    return expression.value


def _word(
    name: str, given: Mapping[str, object], known: tuple[_Word, ...], listed: str
) -> _Word | None:
    """Return the one of some words that is given, None where none is."""
    value = given.get(name)
    if value is not None and value not in known:
        raise ProgrammingError(f"{name} of {_NAME}() is {listed}, not {_shown(value)}")
    return next((word for word in known if word == value), None)


def _share(given: Mapping[str, object]) -> float | None:
    """Return the missed share that is asked for."""
    if "fnr" not in given:
        return None
    value = given["fnr"]
    if isinstance(value, float | Decimal) and 0 < value < 1:
        return float(value)
    raise ProgrammingError(f"fnr of {_NAME}() is a number between 0 and 1, not {_shown(value)}")


def _shown(value: object) -> str:
    """Return a value as SQL writes it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return f"'{value}'"
        case _:
            return str(value)


def _count(name: str, given: Mapping[str, object], default: int | None) -> int | None:
    value = given.get(name, default)
    if name not in given:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**31:
        most = " to 2147483647" if isinstance(value, int) and value >= 2**31 else ""
        raise ProgrammingError(
            f"{name} of {_NAME}() is a whole number from 1{most}, not {_shown(value)}"
        )
    return value
