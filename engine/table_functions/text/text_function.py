"""text_search(rows, column, query, k => 10, ...): the rows whose texts fit some words best.

    FROM text_search(docs, body, 'red shoes', k => 10)
    FROM text_search((SELECT * FROM docs WHERE lang = 'en'), body, $q, all_words => true)
    FROM asked a, LATERAL text_search(docs, body, a.words) d

The rows are the columns of the first argument, and then rank and score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.kernels.text.text_search import TextRule
from raydb.kernels.text.words import stemmer_names
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Column, Literal
from raydb.planner.expressions.show import show
from raydb.planner.plan.function_arguments import COLUMN, FLAG, TEXT, Argument, number, whole
from raydb.planner.plan.nodes import Search, SearchRows
from raydb.planner.plan.table_function import ONE_ROW, SearchFunction
from raydb.planner.plan.table_rows import rows_of_table
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.engine.operators.relation import Relation
    from raydb.engine.operators.run import Sources
    from raydb.kernels.stored.deferred import Deferred
    from raydb.kernels.text.text_index import TextIndex
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.lower import Lowering
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.storage.tables.table import Index

FOUND = (("rank", pa.int64()), ("score", pa.float64()))
# Beyond this the score grows with the count of a word alone, and then no longer fits a number.
_MOST_K1 = 1_000_000


@dataclass(frozen=True, slots=True)
class TextQuestion:
    """What text_search() is asked; stemmer: a language, '' for words as they are, None for any."""

    rule: TextRule
    stemmer: str | None


@dataclass(frozen=True, slots=True)
class TextJob:
    """How texts are searched: by an index with a name, or by words that are read for the search."""

    stemmer: str
    name: str = ""
    index: Deferred[TextIndex] | None = None


class TextFunction(SearchFunction):
    """text_search()."""

    name = "text_search"
    usage = (
        "a table, a file or a query in parentheses, a column of it and a text; what follows is "
        "named, such as k => 10"
    )
    places = 2
    refuses_null = False
    gives_rows = True
    every_row = True
    explain_name = "FittingRows"
    explains_lone_row = True
    star_reason = "it aggregates over a text search"
    arguments = (
        Argument("column", COLUMN),
        Argument("query"),
        Argument("k", whole(1, 2**31), default=10),
        Argument("all_words", FLAG, default=False),
        Argument("k1", number(0, _MOST_K1, with_ends=True), default=1.2),
        Argument("b", number(0, 1, with_ends=True), default=0.75),
        Argument("stemmer", TEXT, null=True),
    )

    def bind(self, call: FunctionCall) -> Search:
        assert call.rows is not None
        column, query = call.columns["column"], call.varying["query"]
        if not pa.types.is_string(column.type):
            raise ProgrammingError(
                f"column '{column.name}' of text_search() is {sql_type_name(column.type)}, "
                "not VARCHAR"
            )
        if not (pa.types.is_string(query.type) or (isinstance(query, Literal) and query.is_null)):
            raise ProgrammingError(f"text_search() needs a text, not {describe(query)}")
        names = ("k", "k1", "b", "all_words")
        rule = TextRule(*(call.value(name) for name in names))
        question = TextQuestion(rule, _language(call.value("stemmer")))
        found = tuple(call.new_column(name, kind) for name, kind in FOUND)
        given = (("query", query),)
        return Search(self, ONE_ROW, call.rows, given, (column,), question, found)

    def rows_per_row(self, plan: Search) -> float:
        return float(plan.options.rule.k)

    def lower(self, plan: Search, lowering: Lowering) -> Plan:
        from raydb.engine.table_functions.search.found_rows import over_table  # noqa: PLC0415  (few plans)

        rows = None if plan.pairs else rows_of_table(plan.right)
        (column,) = plan.read
        assert isinstance(column, Column)
        texts = None if rows is None else rows.definitions[column]
        if rows is None or not isinstance(texts, Column):
            return SearchRows.of(plan, lowering, TextJob(plan.options.stemmer or ""))
        job, catalog = TextJob(plan.options.stemmer or ""), lowering.catalog
        for index in catalog.tables[rows.scan.table].definition.text_indexes:
            if _serves(index, texts.name, plan.options):
                assert index.text is not None
                known = catalog.text_indexes[index.name]
                job = TextJob(index.text.stemmer, index.name, known)
        return over_table(plan, lowering, rows, job, rows.selection(lowering.fresh))

    def run(self, plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
        from raydb.engine.table_functions.text.text_rows import text_rows  # noqa: PLC0415  (few)

        return text_rows(plan, columns, sources)

    def summary(self, plan: SearchRows) -> str:
        query: Expression = dict(plan.given)["query"]
        return f"{plan.options.rule.k} that fit {show(query)} best"

    def details(self, plan: SearchRows) -> dict[str, Any]:
        job: TextJob = plan.how
        if job.index is None:
            return {"search": "words of all rows are read (no fts index)"}
        return {"search": f"words of '{job.name}'"}

    def shown(self, literal: Literal) -> str:
        if literal.is_null:
            return "NULL"
        if isinstance(literal.value, bool):
            return str(literal.value).lower()
        return describe(literal) if isinstance(literal.value, str) else str(literal.value)


def _language(given: str | None) -> str | None:
    """Return the language of an argument, '' for 'none'; raises ProgrammingError for another."""
    if given is None or given.lower() in ("", "none"):
        return given if given is None else ""
    known = stemmer_names()
    if given.lower() not in known:
        listed = ", ".join(known)
        raise ProgrammingError(
            f"stemmer of text_search() is none or one of {listed}, not '{given}'"
        )
    return given.lower()


def _serves(index: Index, column: str, question: TextQuestion) -> bool:
    """Tell whether an index answers a question about a column."""
    assert index.text is not None
    return index.columns == (column,) and question.stemmer in (None, index.text.stemmer)
