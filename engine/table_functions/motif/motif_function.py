"""motif_count(rows, src => ...), motif_sample() and motif_list(): motifs in a temporal graph.

    FROM motif_count(transfers, src => 's', dst => 'd', time => 't',
                     motif => 'a->b, b->c, c->a', delta => INTERVAL 1 DAY)
    FROM motif_sample((SELECT * FROM transfers WHERE amount > 1e4), ..., n => 3)
    FROM patterns p, LATERAL motif_count(transfers, ..., motif => p.text, delta => p.delta)

motif_count() gives one row, or one for each vertex or window of time; the others give one for each
instance: its vertices by their names, and the rows of its edges. All give them for each row of the
tables before it that they read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.table_functions.motif.instance_rows import as_times
from raydb.engine.table_functions.motif.motif_question import (
    LIST_ARGUMENTS,
    QUESTION_ARGUMENTS,
    SPLIT_ARGUMENTS,
    TIME_UNITS,
    make_question,
)
from raydb.engine.table_functions.motif.motif_text import motif_text
from raydb.engine.table_functions.motif.motif_where import Reads, WhereText
from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.casts.cast import literal_value
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, interval_text
from raydb.planner.expressions.nodes import Call, Literal
from raydb.planner.expressions.show import show
from raydb.planner.expressions.types import is_integer, is_interval
from raydb.planner.expressions.typing_rules import unify
from raydb.planner.plan.function_arguments import COLUMN, Argument, whole
from raydb.planner.plan.nodes import Filter, Search, SearchRows
from raydb.planner.plan.table_function import ONE_ROW, SearchFunction
from raydb.storage.type_names import sql_type_name
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.engine.fused.derived_cache import DerivedCache
    from raydb.engine.operators.relation import Relation
    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.motif.motif_question import MotifQuestion
    from raydb.engine.table_functions.motif.motif_where import Where
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.lower import Lowering
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.planner.segments.rows import AskedRows
    from raydb.storage.tables.table import Table

DEFAULT_SAMPLES = 10

# What EXPLAIN says of each method.
_METHODS = {
    "auto": "exact where that is expected to take few steps, else timest",
    "exact": "exact",
    "timest": "timest",
}

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


SHUFFLE_COLUMNS = (
    ("shuffled_mean", pa.float64()),
    ("shuffled_std", pa.float64()),
    ("z_score", pa.float64()),
)
SPLIT_COLUMNS = (*COUNT_COLUMNS[:5], ("count", pa.int64()))

# How many instances a list is taken to have by a plan that has nothing better to go by.
_LISTED_ROWS = 10_000.0


class MotifFunction(SearchFunction):
    """motif_count(), motif_sample() or motif_list()."""

    explain_name = "MotifRows"
    star_reason = "it aggregates over motifs"
    usage = (
        "a table, a file or a query in parentheses; what follows is named, such as src => 'payer'"
    )

    def __init__(self, name: str, *arguments: Argument) -> None:
        self.name = name
        ends = (Argument(each, COLUMN, is_required=True) for each in ("src", "dst", "time"))
        self.arguments = (*ends, *arguments)

    def bind(self, call: FunctionCall) -> Search:
        assert call.rows is not None
        source, target, time = (call.columns[name] for name in ("src", "dst", "time"))
        for end in (source, target):
            if pa.types.is_nested(end.type) or is_interval(end.type):
                raise NotSupportedError(
                    f"column '{end.name}' of {self.name}() is {sql_type_name(end.type)}, and "
                    "vertices of that type are not supported"
                )
        try:
            ends = unify((source, target), "compare")
        except ProgrammingError as error:
            raise ProgrammingError(f"src and dst of {self.name}(): {error.sentence}") from None
        if not is_integer(time.type) and time.type not in TIME_UNITS:
            raise ProgrammingError(
                f"column '{time.name}' of {self.name}() is {sql_type_name(time.type)}; times are "
                "integers, TIMESTAMP or DATE"
            )
        question = make_question(self, call.constants, call.varying, time)
        reads = Reads((*ends, time))
        wheres = _wheres(call, question, ends, reads)
        notes = _without_effect(call, question)
        question = replace(question, wheres=wheres, notes=notes)
        if self.name == "motif_count":
            columns = _count_columns(question, ends[0].type, time.type)
        else:
            columns = _instance_columns(question, ends[0].type, time.type)
        found = tuple(call.new_column(name, kind) for name, kind in columns)
        given = tuple(call.varying.items())
        read = tuple(reads.expressions)
        rows = call.rows
        if self.name == "motif_count" and "delta" not in call.varying:
            # Instances have the places of their rows among all.
            rows = _near_new_rows(rows, question, time)
        return Search(self, ONE_ROW, rows, given, read, question, found)

    def rows_per_row(self, plan: Search) -> float:
        if self.name == "motif_list":
            return _LISTED_ROWS
        return float(plan.options.sample_count or 1)

    def sees_order(self, plan: Search) -> bool:
        # Edges at the same time have an order, or instances tell their rows.
        has_order = plan.options.ties == "index" or "ties" in dict(plan.given)
        return has_order or self.name != "motif_count"

    def lower(self, plan: Search, lowering: Lowering) -> Plan:
        from raydb.engine.table_functions.motif.graph_cache import graph_of  # noqa: PLC0415  (few)

        # What is new is a small part of the rows, for another moment each time.
        kept = None if plan.options.since is not None else graph_of(plan)
        return SearchRows.of(plan, lowering, kept)

    def in_segments(
        self, plan: SearchRows, catalog: CatalogInfo, numbers: Iterator[int]
    ) -> AskedRows | str:
        from raydb.engine.table_functions.motif.motif_slices import (  # noqa: PLC0415  (few plans)
            count_in_segments,
        )

        return count_in_segments(plan, catalog)

    def slices(
        self, plan: SearchRows, numbers: Sequence[int], count: int, sources: Sources
    ) -> Relation:
        from raydb.engine.table_functions.motif.motif_slices import (  # noqa: PLC0415  (few plans)
            count_slices,
        )

        return count_slices(plan, numbers, count, sources)

    def of_slices(self, plan: SearchRows, rows: Relation, sources: Sources) -> Relation | None:
        from raydb.engine.table_functions.motif.motif_slices import (  # noqa: PLC0415  (few plans)
            joined_slices,
        )

        return joined_slices(plan, rows, sources)

    def run(self, plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
        from raydb.engine.table_functions.motif.motif_rows import motif_rows  # noqa: PLC0415  (few)

        return motif_rows(plan, columns, sources)

    def stream(
        self, plan: SearchRows, columns: Sequence[Column], sources: Sources
    ) -> Iterator[Relation] | None:
        from raydb.engine.table_functions.motif.motif_rows import instance_blocks  # noqa: PLC0415  (few)

        return instance_blocks(plan, columns, sources) if self.name == "motif_list" else None

    def state(
        self, plan: SearchRows, tables: Mapping[str, Table], cache: DerivedCache
    ) -> Mapping[str, str]:
        from raydb.engine.table_functions.motif.graph_cache import graph_state  # noqa: PLC0415  (few)

        return {"graph": graph_state(plan, tables, cache)}

    def summary(self, plan: SearchRows) -> str:
        asked: MotifQuestion = plan.options
        given = _shown(plan)
        what = "count"
        if self.name == "motif_list":
            what = "list"
        elif asked.sample_count is not None:
            count = given.get("n", str(asked.sample_count))
            what = f"{count} sample{'' if count == '1' else 's'}"
        return f"{what} of {given.get('motif', motif_text(asked.written))}"

    def details(self, plan: SearchRows) -> dict[str, Any]:
        asked: MotifQuestion = plan.options
        given = _shown(plan)
        if self.name == "motif_list":
            return {
                **_shown_conditions(plan),
                "within": given.get("delta", _duration(asked.delta, plan.read[2].type)),
                "ties": given.get("ties", asked.ties),
            }
        method = given.get("method", _METHODS[asked.method])
        if asked.method != "exact" and asked.sample_count is None:
            rel_error = given.get("rel_error", f"{asked.rel_error:g}")
            confidence = given.get("confidence", f"{asked.confidence:g}")
            method += f" to {rel_error} with confidence {confidence}"
        seconds = given.get("max_seconds", f"{asked.max_seconds:g}")
        return {
            **({"note": "; ".join(asked.notes)} if asked.notes else {}),
            **_shown_conditions(plan),
            "within": given.get("delta", _duration(asked.delta, plan.read[2].type)),
            "ties": given.get("ties", asked.ties),
            "method": f"{method}, in {seconds} seconds",
        }


def _shown(plan: SearchRows) -> dict[str, str]:
    return {name: show(expression) for name, expression in plan.given}


def _shown_conditions(plan: SearchRows) -> dict[str, str]:
    """Return what EXPLAIN says of the conditions on edges, those of the first plain motif."""
    asked: MotifQuestion = plan.options
    shown: dict[str, str] = {}
    if len(asked.variants) > 1:
        shown["motifs"] = f"{len(asked.variants)} directed ones with different vertices"
    if asked.wheres:
        where = asked.wheres[0]
        for edge, place in enumerate(where.filters):
            if place is not None:
                shown[f"e{edge + 1} is found where"] = show(plan.read[place])
        compared = [
            f"{show(plan.read[each.key])} of e{each.edge + 1} {each.operator} "
            f"{show(plan.read[each.other_key])} of e{each.other_edge + 1}"
            for each in where.comparisons
        ]
        if compared:
            shown["compared on the way"] = "; ".join(compared)
        if where.rest:
            tests = " and ".join(show(test.condition) for test in where.rest)
            shown["asked of whole instances"] = tests
    kind = plan.read[2].type
    for name, gap in (("least gap", asked.min_gap), ("greatest gap", asked.max_gap)):
        if gap is not None:
            shown[name] = _duration(gap, kind)
    return shown


def _duration(delta: int, kind: pa.DataType) -> str:
    """Return a time between two edges in words."""
    if not pa.types.is_timestamp(kind):
        return str(delta) if pa.types.is_integer(kind) else f"{delta} days"
    days, microseconds = divmod(delta * TIME_UNITS[kind][1] // 1000, DAY_MICROSECONDS)
    if days >= 2**31:
        return f"{days} days"
    return str(interval_text(pa.MonthDayNano([0, days, microseconds * 1000])))


MOTIF_FUNCTIONS = (
    MotifFunction("motif_count", *QUESTION_ARGUMENTS, *SPLIT_ARGUMENTS),
    MotifFunction(
        "motif_sample",
        *QUESTION_ARGUMENTS,
        Argument("n", whole(1, 2**31), DEFAULT_SAMPLES, varies=True),
    ),
    MotifFunction("motif_list", *LIST_ARGUMENTS),
)


def _wheres(
    call: FunctionCall, question: MotifQuestion, ends: Sequence[Expression], reads: Reads
) -> tuple[Where, ...]:
    """Return the conditions on the edges of each plain motif, none where there is no `where`.

    What they compute of the rows is added to what is read.
    """
    text = call.constants.get("where")
    if text is None:
        return ()
    if text.type != pa.string():
        call.value("where")
    if "motif" in call.varying:
        raise NotSupportedError(
            f"where of {call.function.name}() is about the edges of one motif, and motif differs "
            "by row"
        )
    bound = WhereText(text, call, question.written, ends[0].type)
    return tuple(bound.of(variant, ends, reads) for variant in question.variants)


def _near_new_rows(rows: Plan, question: MotifQuestion, time: Column) -> Plan:
    """Return the rows that may be edges of an instance which is new, all without `since`.

    Scans read few others: files and columns know the times of their parts.
    """
    if question.since is None:
        return rows
    try:
        first = as_times(np.array([question.since - question.delta]), time.type)
    except (OverflowError, pa.ArrowInvalid):
        return rows  # Before the first time of the type.
    from_then_on = Literal(literal_value(first[0]), time.type)
    return Filter(rows, Call("greater_equal", (time, from_then_on), pa.bool_()))


def _without_effect(call: FunctionCall, question: MotifQuestion) -> tuple[str, ...]:
    """Return a sentence for each argument that is given and makes no difference."""
    function = call.function.name
    if function == "motif_sample":
        why = "motif_sample() gives instances and no estimate"
    elif question.method == "exact" and "method" in call.constants:
        why = "method => 'exact' counts every instance"
    else:
        return ()
    given = {*call.constants, *call.varying}
    names = [name for name in ("rel_error", "confidence") if name in given]
    return tuple(f"{name} of {function}() has no effect: {why}" for name in names)


def _count_columns(
    question: MotifQuestion, vertex: pa.DataType, time: pa.DataType
) -> list[tuple[str, pa.DataType]]:
    """Return the columns of motif_count(), by which it is split if it is."""
    if question.by is None and question.every is None:
        return [*COUNT_COLUMNS, *(SHUFFLE_COLUMNS if question.shuffles else ())]
    if question.shuffles:
        raise NotSupportedError("shuffles of motif_count() is not supported beside by and every")
    keys = [("window", time)] if question.every is not None else []
    if question.by is not None:
        name = question.names[question.by]
        _refuse_names("motif_count", [name], ["window", *(each for each, _ in SPLIT_COLUMNS)])
        keys.append((name, vertex))
    return [*keys, *SPLIT_COLUMNS]


def _instance_columns(
    question: MotifQuestion, vertex: pa.DataType, time: pa.DataType
) -> list[tuple[str, pa.DataType]]:
    """Return the columns of instances: one for each vertex and for each edge, and others."""
    edges = [f"e{number}_row" for number in range(1, len(question.written.motif.edges) + 1)]
    others = ("instance", *edges, "first_time", "last_time")
    _refuse_names(question.function, question.names, others)
    return [
        ("instance", pa.int64()),
        *((name, vertex) for name in question.names),
        *((edge, pa.int64()) for edge in edges),
        ("first_time", time),
        ("last_time", time),
    ]


def _refuse_names(function: str, names: Sequence[str], others: Sequence[str]) -> None:
    taken = [name for name in names if name in others]
    if taken:
        raise ProgrammingError(
            f"motif of {function}(): a vertex cannot be called '{taken[0]}', which is another "
            "column of the result"
        )
