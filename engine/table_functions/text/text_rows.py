"""Text search: which rows fit some words best, and then their columns by point read.

texts that are asked  ->  terms
a table, or rows      ->  an index of its words, and one of the rows beside it  ->  rows and scores
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from raydb.engine.catalog.indexes.text_index import index_of_texts, text_control
from raydb.engine.operators.relation import joined
from raydb.engine.operators.scan.scan import fetch_rows
from raydb.engine.table_functions.search.found_rows import allowed_rows, selected_rows, with_found
from raydb.engine.table_functions.search.paired_rows import PairedRows
from raydb.kernels.text.text_index import build_text_index, terms_of
from raydb.kernels.text.text_search import SearchedPart, TextSearch
from raydb.planner.expressions.nodes import Column
from raydb.planner.plan.nodes import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.engine.operators.relation import Relation
    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.text.text_function import TextJob
    from raydb.kernels.text.text_index import TextIndex
    from raydb.planner.plan.nodes import SearchRows
    from raydb.storage.tables.table import Table

    # The rows that a text finds, by number, and their scores.
    Found: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]

_TOLD = "text_search"

# What a search holds for each row that it may find.
_FOUND_BYTES = 48

# Rows beside an index that are worth a REINDEX.
_MANY_BESIDE, _MANY_BESIDE_PART = 5000, 1 / 8


def text_rows(plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of each row that asks with those of the rows that fit its text best.

    Raises OperationalError where memory is too small for the words of rows without an index.
    """
    of_queries = [column for column in plan.left.columns if column in columns]
    of_rows = [column for column in plan.right.columns if column in columns]
    needed = list(dict.fromkeys((*of_queries, *(column for column, _ in plan.pairs))))
    rows, (asked,) = sources.rows_with(plan.left, needed, [dict(plan.given)["query"]])
    texts = joined(asked).to_pylist()
    table = sources.tables[plan.right.table] if isinstance(plan.right, Scan) else None
    if table is not None:
        found = _of_each(plan, texts, _search_of_table(plan, table, sources), sources)
    else:
        read = list(dict.fromkeys((*of_rows, _column(plan), *(own for _, own in plan.pairs))))
        source, _ = sources.rows_with(plan.right, read, ())
        found = _of_source(plan, texts, rows, source, sources)
    counts = [len(numbers) for numbers, _ in found]
    numbers = np.concatenate([np.empty(0, np.int64), *(numbers for numbers, _ in found)])
    if table is not None:
        # Rows are read in their order, each once.
        distinct, places = np.unique(numbers, return_inverse=True)
        partners = fetch_rows(table, of_rows, distinct).take(pa.array(places))
    else:
        partners = source.select(of_rows).take(pa.array(numbers))
    rank, score = plan.found
    made: dict[Column, Callable[[], pa.Array]] = {
        rank: lambda: pa.array(np.concatenate([np.empty(0, np.int64), *map(_ranks, counts)])),
        score: lambda: pa.array(np.concatenate([np.empty(0), *(each for _, each in found)])),
    }
    return with_found(
        plan, columns, rows, np.repeat(np.arange(len(counts)), counts), partners, made
    )


def _ranks(count: int) -> NDArray[np.int64]:
    return np.arange(1, count + 1)


def _column(plan: SearchRows) -> Column:
    (column,) = plan.read
    assert isinstance(column, Column)
    return column


def _of_each(
    plan: SearchRows, texts: Sequence[str | None], search: TextSearch, sources: Sources
) -> list[Found]:
    """Return what each text finds; nothing for NULL."""
    job: TextJob = plan.how
    known: dict[str | None, Found] = {None: (np.empty(0, np.int64), np.empty(0))}
    size = 0
    for text in dict.fromkeys(texts):
        if text is not None:
            known[text] = search.best(terms_of(text, job.stemmer), plan.options.rule)
            size += _FOUND_BYTES * len(known[text][0])
            sources.memory.check(size, "the rows that text_search() finds")
    return [known[text] for text in texts]


def _search_of_table(plan: SearchRows, table: Table, sources: Sources) -> TextSearch:
    """Return a search in an index, if there is one, and in the rows beside it."""
    job: TextJob = plan.how
    selected = selected_rows(plan, sources)
    index = None if job.index is None else job.index.get()
    first = 0 if index is None else index.row_count
    parts = []
    if index is not None:
        allowed = allowed_rows(table, selected)
        parts.append(SearchedPart(index, 0, None if allowed is None else allowed[:first]))
    if first < table.row_count:
        # What is masked is not in it.
        allowed = None if selected is None else allowed_rows(table, selected)
        beside = _beside(plan, table, first, sources)
        parts.append(SearchedPart(beside, first, None if allowed is None else allowed[first:]))
        _tell_beside(job, table.row_count - first, first, sources)
    return TextSearch(parts)


def _beside(plan: SearchRows, table: Table, first: int, sources: Sources) -> TextIndex:
    """Return an index of the rows from a number on, which is kept until the table changes."""
    job, column = plan.how, _column(plan).name

    def make() -> TextIndex:
        control = text_control(_TOLD, f"the words of table '{table.name}'", sources.context)
        return index_of_texts(table, column, first, job.stemmer, control)

    owners = (table.rows,) if table.live is None else (table.rows, table.live)
    what = ("words", table.name, column, first, job.stemmer)
    found: TextIndex = sources.context.cache.get(owners, what, make)
    return found


def _tell_beside(job: TextJob, beside: int, indexed: int, sources: Sources) -> None:
    """Warn of many rows beside an index."""
    if job.index is not None and beside > max(_MANY_BESIDE, _MANY_BESIDE_PART * indexed):
        sources.context.warnings.append(
            f"{beside} rows lie beside the {indexed} of index '{job.name}', and their words are "
            f"read anew after each change: REINDEX {job.name} adds them to it"
        )


def _of_source(
    plan: SearchRows,
    texts: Sequence[str | None],
    queries: Relation,
    source: Relation,
    sources: Sources,
) -> list[Found]:
    """Return what each text finds in rows that are no table's, or are others for each."""
    values = joined(source.columns[_column(plan)])
    if not plan.pairs:
        return _of_each(plan, texts, _search_of(plan, values, sources), sources)
    found: list[Found] = [(np.empty(0, np.int64), np.empty(0))] * len(texts)
    for asking, numbers in PairedRows(plan, queries, source).together():
        search = _search_of(plan, values.take(pa.array(numbers)), sources)
        some = _of_each(plan, [texts[place] for place in asking], search, sources)
        for place, (rows, scores) in zip(asking, some, strict=True):
            found[place] = numbers[rows], scores
    return found


def _search_of(plan: SearchRows, values: pa.Array, sources: Sources) -> TextSearch:
    control = text_control(_TOLD, "the words of the rows", sources.context)
    index = build_text_index([(values, 0)], len(values), plan.how.stemmer, control)
    return TextSearch([SearchedPart(index, 0, None)])
