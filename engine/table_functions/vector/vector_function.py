"""vector_search(rows, column, query, k => 10, ...): the rows nearest to a vector.

    FROM vector_search(docs, emb, $q, k => 10, nprobe => 16)
    FROM vector_search((SELECT * FROM docs WHERE lang = 'en'), emb, $q)
    FROM queries q, LATERAL vector_search(docs, emb, q.emb, k => 10, fnr => 0.1) d

The rows are the columns of the first argument, and then rank, distance, probes and guarantee.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Column, Expression, Literal
from raydb.planner.plan.function_arguments import COLUMN, FLAG, Argument, number, whole, word
from raydb.planner.plan.nodes import SearchOptions, Values, VectorSearch
from raydb.planner.plan.table_function import SearchFunction
from raydb.sql.bind.expression.literals import is_bare_string
from raydb.sql.types import is_numbers
from raydb.sql.typing_rules import cast, explicit_cast
from raydb.storage.tables.constraints import is_vector
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from raydb.planner.plan.table_function import FunctionCall

_FOUND = (
    ("rank", pa.int64()),
    ("distance", pa.float64()),
    ("probes", pa.int64()),
    ("guarantee", pa.string()),
)


class VectorFunction(SearchFunction):
    """vector_search()."""

    name = "vector_search"
    usage = (
        "a table, a file or a query in parentheses, a column of it and a vector; what follows is "
        "named, such as k => 10"
    )
    places = 2
    refuses_null = False
    arguments = (
        Argument("column", COLUMN),
        Argument("query"),
        Argument("k", whole(1, 2**31), default=10),
        Argument("nprobe", whole(1, 2**31)),
        Argument("exact", FLAG, default=False),
        Argument("metric", word("l2", "cosine", "ip"), null=True),
        Argument("fnr", number(0, 1)),
        Argument("score", word("ratio", "kth"), null=True),
    )

    def bind(self, call: FunctionCall) -> VectorSearch:
        """Return a search for one query vector."""
        assert call.rows is not None
        vector = _checked(call.columns["column"])
        target = _as_vector(call.varying["query"], vector)
        found = tuple(call.new_column(name, kind) for name, kind in _FOUND)
        return VectorSearch(Values((), ((),)), call.rows, target, vector, _options(call), found)

    def shown(self, literal: Literal) -> str:
        """Return a constant as SQL writes it."""
        match literal.value:
            case None:
                return "NULL"
            case bool() as value:
                return str(value).lower()
            case str() as text:
                return f"'{text}'"
            case value:
                return str(value)


def _options(call: FunctionCall) -> SearchOptions:
    names = ("k", "nprobe", "exact", "metric", "fnr", "score")
    options = SearchOptions(*(call.value(name) for name in names))
    ways = {
        "nprobe": options.nprobe is not None,
        "exact => true": options.exact,
        "fnr": options.fnr is not None,
    }
    chosen = [way for way, is_chosen in ways.items() if is_chosen]
    if len(chosen) > 1:
        raise ProgrammingError(f"vector_search() takes {chosen[0]} or {chosen[1]}, not both")
    if options.score is not None and options.fnr is None:
        raise ProgrammingError("score of vector_search() goes with fnr")
    return options


def _checked(column: Column) -> Column:
    """Return the column to search in; raises ProgrammingError where it has no vectors."""
    said = f"column '{column.name}' of vector_search() is {sql_type_name(column.type)}"
    if pa.types.is_list(column.type):
        raise ProgrammingError(
            f"{said}, whose lists may differ in length; vectors are FLOAT[n] or DOUBLE[n]"
        )
    if not is_vector(column.type):
        raise ProgrammingError(f"{said}, not FLOAT[n] or DOUBLE[n]")
    return column


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
        raise ProgrammingError(f"vector_search() needs a vector, not {describe(query)}")
    target = cast(query, wanted)
    if pa.types.is_fixed_size_list(kind):
        length = kind.list_size
    elif isinstance(query, Literal) and not isinstance(target, Literal):
        length = len(query.value)
    else:
        return target
    if length != width:
        raise ProgrammingError(
            f"column '{vector.name}' of vector_search() has vectors of {width} numbers, "
            f"the query has {length}"
        )
    return target
