"""vector_search(rows, column, query, k => 10, ...): the rows nearest to a vector.

    FROM vector_search(docs, emb, $q, k => 10, nprobe => 16)
    FROM vector_search((SELECT * FROM docs WHERE lang = 'en'), emb, $q)
    FROM queries q, LATERAL vector_search(docs, emb, q.emb, k => 10, fnr => 0.1) d

The rows are the columns of the first argument, and then rank, distance, probes and guarantee.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.kernels.vector.graph import MOST_EF
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.literals import is_bare_string
from raydb.planner.expressions.nodes import (
    Column,
    Expression,
    Literal,
    columns_of,
    conjuncts,
)
from raydb.planner.expressions.show import show
from raydb.planner.expressions.types import is_numbers
from raydb.planner.expressions.typing_rules import cast, explicit_cast
from raydb.planner.plan.function_arguments import COLUMN, FLAG, Argument, number, whole, word
from raydb.planner.plan.nodes import Search
from raydb.planner.plan.table_function import ONE_ROW, SearchFunction
from raydb.storage.tables.table import SEARCHABLE, has_bits, is_searchable, unsuited
from raydb.storage.type_names import sql_type_name
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.engine.operators.relation import Relation
    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.vector.choose_index import SearchOptions, VectorJob
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.lower import Lowering
    from raydb.planner.ordered_rows import RowOrder
    from raydb.planner.plan.nodes import Plan, SearchRows
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.planner.segments.rows import AskedRows

# How many rows are found where neither k nor a distance says it.
DEFAULT_K = 10

FOUND = (
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
    found_columns = FOUND
    refuses_null = False
    gives_rows = True
    every_row = True
    explain_name = "NearestRows"
    explains_lone_row = True
    star_reason = "it aggregates over a vector search"
    orders_by = frozenset(
        {
            "list_distance",
            "list_cosine_distance",
            "list_cosine_similarity",
            "list_inner_product",
            "list_negative_inner_product",
            "list_l1_distance",
            "hamming_distance",
        }
    )
    arguments = (
        Argument("column", COLUMN),
        Argument("query"),
        Argument("k", whole(1, 2**31), varies=True),
        Argument("max_distance", number(-inf, inf, with_ends=True), varies=True),
        Argument("offset", whole(0, 2**31), default=0),
        Argument("nprobe", whole(1, 2**31)),
        Argument("ef", whole(1, MOST_EF + 1)),
        Argument("exact", FLAG, default=False),
        Argument("metric", word("l2", "cosine", "ip", "l1", "hamming"), null=True),
        Argument("fnr", number(0, 1)),
        Argument("score", word("ef", "ratio", "kth"), null=True),
    )

    def bind(self, call: FunctionCall) -> Search:
        assert call.rows is not None
        vector = _checked(call.columns["column"])
        given = (("query", _as_vector(call.varying["query"], vector)), *_varying(self, call))
        found = tuple(call.new_column(name, kind) for name, kind in FOUND)
        options = _options(call)
        if options.metric and (why := unsuited(options.metric, vector.type)):
            said = f"column '{vector.name}' of vector_search() is {sql_type_name(vector.type)}"
            raise ProgrammingError(said + why)
        return Search(self, ONE_ROW, call.rows, given, (vector,), options, found)

    def rows_per_row(self, plan: Search) -> float:
        return float(plan.options.k)

    def first_rows(self, order: RowOrder, lowering: Lowering) -> Plan | str | None:
        from raydb.engine.table_functions.vector.order_by import (  # noqa: PLC0415  (few plans)
            nearest_first,
        )

        return nearest_first(self, order, lowering)

    def lower(self, plan: Search, lowering: Lowering) -> Plan:
        from raydb.engine.table_functions.vector.choose_index import (  # noqa: PLC0415  (few plans)
            lower_vector_search,
        )

        return lower_vector_search(plan, lowering)

    def run(self, plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
        from raydb.engine.table_functions.vector.vector_search import (  # noqa: PLC0415  (few plans)
            nearest_rows,
        )

        return nearest_rows(plan, columns, sources)

    def in_segments(
        self, plan: SearchRows, catalog: CatalogInfo, numbers: Iterator[int]
    ) -> AskedRows | str:
        from raydb.engine.table_functions.vector.segmented_search import (  # noqa: PLC0415  (few plans)
            search_in_segments,
        )

        return search_in_segments(plan, catalog, numbers)

    def summary(self, plan: SearchRows) -> str:
        given, options = dict(plan.given), plan.options
        query = given["query"]
        # A constant vector is long.
        shown = sql_type_name(query.type) if isinstance(query, Literal) else show(query)
        count = "all" if options.is_every else str(options.k - options.offset)
        count = show(given["k"]) if "k" in given else count
        most = f"{options.most:g}" if options.most is not None else ""
        most = show(given["max_distance"]) if "max_distance" in given else most
        within = f" within {most}" if most else ""
        after = f" after {options.offset}" if options.offset else ""
        return f"{count} nearest to {shown}{within} by {plan.how.metric}{after}"

    def details(self, plan: SearchRows) -> dict[str, Any]:
        job: VectorJob = plan.how
        return {"search": job.reason, **({"note": job.note} if job.note else {})}

    def shown(self, literal: Literal) -> str:
        match literal.value:
            case None:
                return "NULL"
            case bool() as value:
                return str(value).lower()
            case str() as text:
                return f"'{text}'"
            case value:
                return str(value)

    def told_of_filter(self, plan: SearchRows, predicate: Expression, left_out: int) -> str:
        rows = set(plan.right.columns)
        read = [columns_of(each) for each in conjuncts(predicate)]
        if not any(some and some <= rows for some in read):
            return ""
        rows_word = "1 row" if left_out == 1 else f"{left_out} rows"
        return (
            f"WHERE has left out {rows_word} of those that vector_search() found: as a filter of "
            "the query that is searched, it leaves k rows where there are so many"
        )

    def measured(self, counts: Mapping[str, int]) -> dict[str, Any]:
        queries = counts["queries"]
        mean = counts["lists"] / max(queries, 1)
        of = "one query" if queries == 1 else f"{queries} queries"
        told = f"{mean:.1f} on average over {of}"
        return {"queries": queries, "mean_probes": mean, "probes": told}


def _options(call: FunctionCall) -> SearchOptions:
    from raydb.engine.table_functions.vector.choose_index import (  # noqa: PLC0415  (few plans)
        SearchOptions,
    )

    k, most, offset = (call.value(name) for name in ("k", "max_distance", "offset"))
    given = {*call.constants, *call.varying}
    named = (call.value(name) for name in ("nprobe", "exact", "metric", "fnr", "score"))
    is_every = "max_distance" in given and "k" not in given
    options = SearchOptions((k or DEFAULT_K) + offset, *named)
    ef = call.value("ef")
    options = replace(options, offset=offset, most=most, is_every=is_every, ef=ef)
    if ef is not None and is_every:
        raise ProgrammingError("ef of vector_search() goes with k: all rows are not walked to")
    ways = {
        "nprobe": options.nprobe is not None,
        "ef": ef is not None,
        "exact => true": options.exact,
        "fnr": options.fnr is not None,
    }
    chosen = [way for way, is_chosen in ways.items() if is_chosen]
    if len(chosen) > 1:
        raise ProgrammingError(f"vector_search() takes {chosen[0]} or {chosen[1]}, not both")
    others = [name for name in ("max_distance", "offset") if name in given]
    if options.fnr is not None and others:
        raise ProgrammingError(
            f"vector_search() takes fnr or {others[0]}, not both: what is promised is a share of "
            "the k nearest rows"
        )
    if options.fnr is not None and "k" in call.varying:
        raise ProgrammingError("vector_search() with fnr needs one k for all rows")
    if options.score is not None and options.fnr is None:
        raise ProgrammingError("score of vector_search() goes with fnr")
    return options


def _varying(function: VectorFunction, call: FunctionCall) -> Iterator[tuple[str, Expression]]:
    """Yield the arguments but the vector that another table gives, row by row."""
    for name, kind in (("k", pa.int64()), ("max_distance", pa.float64())):
        if name in call.varying:
            function.argument(name).check_type(call.varying[name], function.name)
            yield name, cast(call.varying[name], kind)


def _checked(column: Column) -> Column:
    """Return the column to search in; raises ProgrammingError where it has no vectors."""
    said = f"column '{column.name}' of vector_search() is {sql_type_name(column.type)}"
    if pa.types.is_list(column.type):
        raise ProgrammingError(
            f"{said}, whose lists may differ in length; vectors are {SEARCHABLE}"
        )
    if not is_searchable(column.type):
        raise ProgrammingError(f"{said}, not {SEARCHABLE}")
    return column


def _as_bits(query: Expression, vector: Column) -> Expression:
    """Return the bits to search for; a text of 0 and 1 beside BIT."""
    if isinstance(query, Literal) and query.is_null:
        return Literal(None, vector.type)
    if is_bare_string(query):
        return explicit_cast(query, vector.type)
    if query.type != vector.type:
        raise ProgrammingError(
            f"vector_search() needs a {sql_type_name(vector.type)}, as column '{vector.name}' is, "
            f"not {describe(query)}"
        )
    return query


def _as_vector(query: Expression, vector: Column) -> Expression:
    """Return the query vector as FLOAT[n], of the length of the column's; bits are of its type."""
    if has_bits(vector.type):
        return _as_bits(query, vector)
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
