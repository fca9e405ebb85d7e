"""EXPLAIN: a physical plan as a tree of nodes with the reasons for each choice.

path: fused
ComputeColumns: d_year, p_brand1, revenue
SortRows: d_year, p_brand1
FusedScanAggregate: sum(lo_revenue) by d_year, p_brand1
bvh: brands (largest coverage of 4 BVHs: 7 against 4 of 'profits')
coverage: X 1 of 1, Y 2 of 2, Z 2 of 2
intervals: 7
estimated rows: 48020 of 6001215
backend: cpu (auto: this version has no other backend)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

import pyarrow as pa

from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, interval_text
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Attribute,
    Bound,
    Call,
    Column,
    Expression,
    Frame,
    Literal,
    OrderItem,
    Subquery,
    WindowCall,
)
from raydb.planner.plan.physical import (
    ComputeColumns,
    ConcatenateRows,
    ConstantRows,
    FilterRows,
    HashAggregate,
    HashJoin,
    KeySearch,
    LimitRows,
    MotifRows,
    NearestRows,
    PhysicalPlan,
    RecursiveRows,
    ScanTable,
    SeriesRows,
    SharedRows,
    SortRows,
    UnnestRows,
    WindowRows,
    WorkingRows,
    sources_of,
)
from raydb.planner.stars.delta import DeltaScan
from raydb.planner.stars.fuse import FusedScanAggregate
from raydb.planner.stars.sieve import touched
from raydb.planner.stars.table_scan import FusedTableScan
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.kernels.motif.shape import Motif

INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "modulo": "%",
    "equal": "=",
    "not_equal": "<>",
    "not_distinct": "IS NOT DISTINCT FROM",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "and": "AND",
    "or": "OR",
    "like": "LIKE",
    "ilike": "ILIKE",
    "concat": "||",
}


# What runs on a backend.
_Job: TypeAlias = FusedScanAggregate | FusedTableScan | DeltaScan

# What else is said of a node, below its title.
_DETAILS = ("general path", "also", "search", "note", "within", "ties", "method", "graph", "ran")


@dataclass(frozen=True, slots=True)
class Measured:
    """What EXPLAIN ANALYZE measured, in ms: the whole query, and the kernel of each fused job.

    nodes: the rows and the own time, in ms, of nodes by their identity. ran_on: for jobs that could
    run on several backends which one did, with its own figures. By the identity of nodes, notes:
    what they say of their run; probes: the queries of vector searches and the lists that they
    scanned.
    """

    time_ms: float
    kernel_ms: Mapping[FusedScanAggregate, float]
    nodes: Mapping[int, tuple[int, float]]
    ran_on: Mapping[_Job, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    probes: Mapping[int, tuple[int, int]] = field(default_factory=dict)


_NOT_MEASURED = Measured(0.0, {}, {})


def describe(
    plan: PhysicalPlan, measured: Measured | None = None, graphs: Mapping[int, str] | None = None
) -> dict[str, Any]:
    """Return {"path", "reasons", "plan"}, and "time_ms" where measured: the plan as JSON values.

    The path is "fused" when any part runs as a fused job; the reasons say of every other
    aggregate (or of a plan without one) why it does not. graphs: where the graphs of MotifRows
    nodes, by identity, come from.
    """
    tree = _described(plan, set(), measured or _NOT_MEASURED, graphs or {})
    nodes = list(_walk(tree))
    fused = any(node["node"] in ("FusedScanAggregate", "FusedTableScan") for node in nodes)
    reasons = [node["general path"] for node in nodes if "general path" in node]
    if not fused and not reasons:
        reasons = ["the query has no aggregate"]
    times = {} if measured is None else {"time_ms": measured.time_ms}
    return {"path": "fused" if fused else "general", "reasons": reasons, **times, "plan": tree}


def render(described: Mapping[str, Any]) -> list[str]:
    """Return the lines of EXPLAIN for a plan as `describe` describes it."""
    reasons = "; ".join(described["reasons"])
    path = described["path"]
    if path == "general" and reasons:
        path += f" ({reasons})"
    lines = [f"path: {path}", *_render(described["plan"], 0)]
    return [*lines, f"time: {described['time_ms']:.3f} ms"] if "time_ms" in described else lines


def _render(node: dict[str, Any], depth: int) -> list[str]:
    indent = "  " * depth
    title = node["node"] if not node["summary"] else f"{node['node']}: {node['summary']}"
    lines = [indent + title]
    lines += [
        f"{indent}  {name.replace('_', ' ')}: {value}" for name, value in details_of(node).items()
    ]
    for child in node["children"]:
        lines += _render(child, depth + 1)
    return lines


def details_of(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lines below a node's title."""
    details = _details(node)
    if "mean_probes" in node:
        count = "one query" if node["queries"] == 1 else f"{node['queries']} queries"
        details["probes"] = f"{node['mean_probes']:.1f} in the mean of {count}"
    if "ran_on" in node:
        details["ran on"] = node["ran_on"]
    if "rows" in node:
        details["gave"] = f"{_rows(node['rows'])} in {node['time_ms']:.3f} ms"
    return details


def _details(node: Mapping[str, Any]) -> dict[str, Any]:
    if node["node"] == "FusedTableScan":
        return {
            "no bvh": node["no_bvh"],
            "rows": node["rows_touched"],
            "backend": f"{node['backend']} ({node['backend_reason']})",
        }
    if "change" in node:
        return dict(node["change"])
    if "index" in node:
        return {"index": node["index"]}
    if node["node"] == "DeltaScan":
        return {
            "newer than bvh": node["bvh"],
            "rows": f"{node['rows_touched']}, from row {node['first_row']} on",
            "by": node["by"],
        }
    if node["node"] != "FusedScanAggregate":
        return {name: node[name] for name in _DETAILS if node.get(name)}
    coverage = node["coverage"]
    details = {
        "bvh": f"{node['bvh']} ({node['choice_reason']})",
        "coverage": ", ".join(
            f"{axis} {coverage[name]} of {coverage[name + '_total']}"
            for axis, name in (("X", "aggregate"), ("Y", "group_by"), ("Z", "scan"))
        ),
        "intervals": node["intervals"],
        **({"sieve": _sieve_text(node["sieve"])} if node["sieve"] else {}),
        "estimated rows": f"{node['rows_touched']} of {node['rows_total']}",
        "backend": f"{node['backend']} ({node['backend_reason']})",
    }
    if node["rows_dead"]:
        details["left out"] = f"{node['rows_dead']} rows that are no more"
    if node["by_row_id"]:
        details["fetched by row id"] = ", ".join(node["by_row_id"])
    if "kernel_ms" in node:
        details["kernel"] = f"{node['kernel_ms']:.3f} ms"
    return details


def _sieve_text(sieve: dict[str, Any]) -> str:
    if "obstacle" in sieve:
        return f"not used ({sieve['obstacle']})"
    return f"{sieve['cells_touched']} cells in place of {sieve['rows_covered']} rows"


def _walk(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(below for child in node["children"] for below in _walk(child))]


def _node(plan: PhysicalPlan, summary: str, *sources: PhysicalPlan, **more: Any) -> dict[str, Any]:
    return {
        "node": type(plan).__name__,
        "summary": summary,
        **more,
        "children": list(sources),
    }


def _sought(search: KeySearch) -> str:
    keys = f"{len(search.keys)} key{'' if len(search.keys) == 1 else 's'}"
    return f"{search.index} ({', '.join(search.columns)}), {keys}"


def _described(
    plan: PhysicalPlan, seen: set[int], measured: Measured, graphs: Mapping[int, str]
) -> dict[str, Any]:
    """Return a plan as JSON values; a shared query is described where it comes first."""
    node = _describe(plan)
    if isinstance(plan, SharedRows):
        if plan.number in seen:
            return {**node, "summary": f"{plan.name}, as above", "children": []}
        seen.add(plan.number)
    if isinstance(plan, FusedScanAggregate):
        node |= {"kernel_ms": measured.kernel_ms[plan]} if plan in measured.kernel_ms else {}
    if isinstance(plan, _Job):
        node |= {"ran_on": measured.ran_on[plan]} if plan in measured.ran_on else {}
    if id(plan) in measured.nodes:
        node["rows"], node["time_ms"] = measured.nodes[id(plan)]
    node |= {"graph": graphs[id(plan)]} if id(plan) in graphs else {}
    node |= {"ran": measured.notes[id(plan)]} if id(plan) in measured.notes else {}
    if id(plan) in measured.probes:
        queries, lists = measured.probes[id(plan)]
        node |= {"queries": queries, "mean_probes": lists / max(queries, 1)}
    children = [_described(source, seen, measured, graphs) for source in node["children"]]
    return {**node, "children": children}


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _describe(plan: PhysicalPlan) -> dict[str, Any]:
    """Return a node as JSON values; its children are plans still."""
    match plan:
        case ScanTable(table=table, columns=columns, search=search):
            summary = f"{table} ({_names(columns)})" if columns else table
            return _node(plan, summary, **({} if search is None else {"index": _sought(search)}))
        case ConstantRows(rows=rows):
            return _node(plan, _rows(len(rows)))
        case SeriesRows(start=start, stop=stop, step=step):
            return _node(plan, f"{start} to {stop} by {step}")
        case SharedRows(name=name, query=query):
            return _node(plan, name, query)
        case WorkingRows(columns=columns):
            return _node(plan, _names(columns))
        case FilterRows(source=source, predicate=predicate):
            return _node(plan, show(predicate), source)
        case ComputeColumns(source=source, items=items):
            shown = (
                column.name if show(e) == column.name else f"{show(e)} AS {column.name}"
                for column, e in items
            )
            return _node(plan, ", ".join(shown), source)
        case UnnestRows(source=source, items=items):
            return _node(plan, ", ".join(show(e) for _, e in items), source)
        case WindowRows(source=source, calls=calls):
            return _node(plan, ", ".join(show_window(call) for _, call in calls), source)
        case ConcatenateRows(sources=sources):
            return _node(plan, f"{len(sources)} sources", *sources)
        case RecursiveRows(base=base, step=step, distinct=distinct):
            return _node(plan, "UNION" if distinct else "UNION ALL", base, step)
        case HashJoin(left=left, right=right, left_keys=left_keys, right_keys=right_keys):
            keys = " AND ".join(
                f"{show(a)} {INFIX['not_distinct'] if place in plan.null_safe else '='} {show(b)}"
                for place, (a, b) in enumerate(zip(left_keys, right_keys, strict=True))
            )
            also = " AND ".join(show(condition) for condition in plan.residual)
            kind = plan.kind.upper() if keys or also else "CROSS"
            return _node(plan, f"{kind} {keys}".rstrip(), left, right, also=also)
        case NearestRows():
            summary = f"{plan.k} nearest to {_show_query(plan.query)} by {plan.metric}"
            notes = {"note": plan.note} if plan.note else {}
            return _node(plan, summary, *sources_of(plan), search=plan.reason, **notes)
        case MotifRows():
            return _describe_motifs(plan)
        case HashAggregate(source=source, reason=reason):
            reasons = {"general path": reason} if reason else {}
            return _node(plan, _aggregation(plan), source, **reasons)
        case FusedScanAggregate():
            return _describe_fused(plan)
        case FusedTableScan():
            return _node(
                plan,
                _aggregation(plan),
                table=plan.star.fact,
                no_bvh=plan.reason,
                rows_touched=plan.row_count,
                backend=plan.backend,
                backend_reason=plan.backend_reason,
            )
        case DeltaScan(newer=newer, scan=scan):
            return _node(
                plan,
                _aggregation(plan),
                table=plan.star.fact,
                bvh=plan.bvh,
                rows_touched=newer.count,
                first_row=newer.first,
                by=f"lookup ({plan.reason})" if scan is None else f"one pass on {scan.backend}",
            )
        case SortRows(source=source, keys=sort_keys):
            shown = (key.column.name + (" DESC" if key.descending else "") for key in sort_keys)
            return _node(plan, ", ".join(shown), source)
        case LimitRows(source=source, count=count, offset=offset):
            summary = "all" if count is None else str(count)
            return _node(plan, summary + (f" after {offset}" if offset else ""), source)
        case _:
            assert_never(plan)


def _describe_motifs(plan: MotifRows) -> dict[str, Any]:
    asked = plan.question
    # What differs by row is shown as it is computed.
    given = {name: show(expression) for name, expression in plan.given}
    what = "count" if asked.sample_count is None else _samples(given.get("n", asked.sample_count))
    methods = {
        "auto": "exact while its steps last, else timest",
        "exact": "exact",
        "timest": "timest",
    }
    method = given.get("method", methods[asked.method])
    if asked.method != "exact" and asked.sample_count is None:
        rel_error = given.get("rel_error", f"{asked.rel_error:g}")
        confidence = given.get("confidence", f"{asked.confidence:g}")
        method += f" to {rel_error} with confidence {confidence}"
    seconds = given.get("max_seconds", f"{asked.max_seconds:g}")
    notes = {"note": "; ".join(plan.notes)} if plan.notes else {}
    is_alone = isinstance(plan.queries, ConstantRows) and not plan.queries.columns
    return _node(
        plan,
        f"{what} of {given.get('motif', motif_text(asked.motif, asked.names))}",
        *(() if is_alone else (plan.queries,)),
        plan.source,
        **notes,
        within=given.get("delta", _duration(asked.delta, plan.time.type)),
        ties=given.get("ties", asked.ties),
        method=f"{method}, in {seconds} seconds",
    )


def _samples(count: int | str) -> str:
    return f"{count} sample{'' if count == 1 else 's'}"


def motif_text(motif: Motif, names: Sequence[str]) -> str:
    """Return a motif as it is written.

    >>> motif_text(Motif(3, ((0, 1), (1, 2), (2, 0)), (0, 1, 1)), ("a", "b", "c"))
    'a->b, {b->c, c->a}'
    """
    parts = []
    for group in range(motif.groups[-1] + 1):
        edges = [e for e, number in zip(motif.edges, motif.groups, strict=True) if number == group]
        text = ", ".join(f"{names[source]}->{names[target]}" for source, target in edges)
        parts.append(text if len(edges) == 1 else "{" + text + "}")
    return ", ".join(parts)


def _duration(delta: int, kind: pa.DataType) -> str:
    """Return a time between two edges in words."""
    if not pa.types.is_timestamp(kind):
        return str(delta) if pa.types.is_integer(kind) else f"{delta} days"
    days, microseconds = divmod(delta, DAY_MICROSECONDS)
    if days >= 2**31:
        return f"{days} days"
    return str(interval_text(pa.MonthDayNano([0, days, microseconds * 1000])))


def _describe_fused(plan: FusedScanAggregate) -> dict[str, Any]:
    coverage = plan.coverage
    fetched = [
        *(show(predicate) for predicate in plan.residual_predicates),
        *(show(key) for _, key in plan.residual_keys),
        *(
            show(measure)
            for measure, position in zip(plan.measures, plan.measure_positions, strict=True)
            if position is None
        ),
    ]
    return _node(
        plan,
        _aggregation(plan),
        table=plan.table,
        bvh=plan.bvh,
        choice_reason=plan.choice_reason,
        coverage={
            "aggregate": coverage.aggregate,
            "aggregate_total": coverage.aggregate_total,
            "group_by": coverage.group_by,
            "group_by_total": coverage.group_by_total,
            "scan": coverage.scan,
            "scan_total": coverage.scan_total,
            "score": coverage.score,
        },
        intervals=len(plan.job.intervals),
        **_reads(plan),
        rows_total=plan.index.row_count,
        rows_dead=0 if plan.index.dead is None else len(plan.index.dead),
        backend=plan.backend,
        backend_reason=plan.backend_reason,
        by_row_id=fetched,
    )


def _reads(plan: FusedScanAggregate) -> dict[str, Any]:
    """Return what a job reads: rows, or cells in place of the rows that they cover."""
    if not plan.job.sieved:
        obstacle = plan.sieve_obstacle
        sieve: dict[str, Any] | None = None if obstacle is None else {"obstacle": obstacle}
        rows, size_bytes = plan.estimated_rows, plan.estimated_bytes
    else:
        read = touched(plan)
        rows, size_bytes = read.rows, read.cell_bytes + read.rows * plan.row_bytes
        sieve = {"cells_touched": read.cells, "rows_covered": read.covered_rows}
    return {"sieve": sieve, "rows_touched": rows, "bytes_touched": size_bytes}


def _aggregation(plan: HashAggregate | FusedScanAggregate | FusedTableScan | DeltaScan) -> str:
    calls = ", ".join(show_aggregate(call) for _, call in plan.aggregates)
    keys = ", ".join(show(key) for _, key in plan.keys)
    if not calls:
        return f"distinct {keys}"
    return f"{calls} by {keys}" if keys else calls


def _show_query(query: Expression) -> str:
    """Return a query vector; of a constant one its type, since it is long."""
    return sql_type_name(query.type) if isinstance(query, Literal) else show(query)


def _names(columns: tuple[Column, ...]) -> str:
    return ", ".join(column.name for column in columns)


def show_aggregate(call: AggregateCall) -> str:
    """Return an aggregate as SQL text."""
    if call.function == "count_star":
        text = "count(*)"
    else:
        arguments = ", ".join(show(argument) for argument in call.arguments)
        order = f" ORDER BY {_show_order(call.order_by)}" if call.order_by else ""
        text = f"{call.function}({'DISTINCT ' if call.distinct else ''}{arguments}{order})"
    return text if call.filter is None else f"{text} FILTER (WHERE {show(call.filter)})"


def show_window(call: WindowCall) -> str:
    """Return a window function as SQL text."""
    aggregate = AggregateCall(call.function, call.arguments, call.type, call.distinct, call.filter)
    nulls = " IGNORE NULLS" if call.ignore_nulls else ""
    parts = []
    if call.partition_by:
        parts.append(f"PARTITION BY {', '.join(show(key) for key in call.partition_by)}")
    if call.order_by:
        parts.append(f"ORDER BY {_show_order(call.order_by)}")
    parts.append(_show_frame(call.frame))
    return f"{show_aggregate(aggregate)}{nulls} OVER ({' '.join(parts)})"


def _show_frame(frame: Frame) -> str:
    ends = f"BETWEEN {_show_bound(frame.start)} AND {_show_bound(frame.end)}"
    exclude = frame.exclude.replace("_", " ").upper()
    extra = "" if frame.exclude == "no_others" else f" EXCLUDE {exclude}"
    return f"{frame.unit.upper()} {ends}{extra}"


def _show_bound(bound: Bound) -> str:
    words = bound.kind.replace("_", " ").upper()
    return words if bound.offset is None else f"{show(bound.offset)} {words}"


def _show_order(items: tuple[OrderItem, ...]) -> str:
    return ", ".join(show(item.expression) + (" DESC" if item.descending else "") for item in items)


def show(expression: Expression) -> str:
    """Return an expression as SQL text."""
    match expression:
        case Column(name=name) | Attribute(name=name):
            return name
        case Literal(value=None):
            return "NULL"
        case Literal(value=str() as text):
            return "'" + text.replace("'", "''") + "'"
        case Literal(value=value, type=kind):
            return f"'{value}'" if pa.types.is_temporal(kind) else str(value)
        case Call(function=function, arguments=arguments) if function in INFIX:
            return "(" + f" {INFIX[function]} ".join(show(a) for a in arguments) + ")"
        case Call(function="not", arguments=(inner,)):
            return f"NOT {show(inner)}"
        case Call(function="is_null", arguments=(inner,)):
            return f"({show(inner)} IS NULL)"
        case Call(function="in", arguments=(operand, *items)):
            return f"{show(operand)} IN ({', '.join(show(item) for item in items)})"
        case Call(function="cast", arguments=(inner,), type=kind):
            return f"CAST({show(inner)} AS {sql_type_name(kind)})"
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(show(argument) for argument in arguments)})"
        case Subquery(kind=kind):
            return f"{kind} subquery"
        case _:
            assert_never(expression)
