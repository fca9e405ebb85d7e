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

from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from raydb.planner.plan.nodes import CommonTable, PhysicalPlan, SearchRows
from raydb.planner.segments.nodes import SegmentScan
from raydb.planner.stars.delta import DeltaScan
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan
from raydb.room import size_text
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.remote import Traffic
    from raydb.storage.tables.table import Table

# What runs on a backend.
_Job: TypeAlias = FusedScanAggregate | FusedTableScan | DeltaScan | SegmentScan

# Nodes that say that a part of a plan is fused.
FUSED = frozenset({"DeferredScan", "FusedScanAggregate", "FusedTableScan", "SegmentScan"})

# How EXPLAIN names the ways to run an aggregate, by its node; others run in general.
_WAYS = {
    "FusedScanAggregate": "on a BVH",
    "FusedTableScan": "by a scan",
    "SegmentScan": "by workers",
    "DeferredScan": "chosen when subqueries have run",
}
_GENERAL = "in general"

# Nodes whose lines differ from their JSON values.
_LINES = {kind.explain_name: kind.lines for kind in get_args(_Job)}


@dataclass(frozen=True, slots=True)
class Measured:
    """What EXPLAIN ANALYZE measured, in ms: the whole query, and the kernel of each fused job.

    nodes: the rows and the own time, in ms, of nodes by their identity. ran_on: for jobs that could
    run on several backends which one did, with its own figures. By the identity of nodes, notes:
    what they say of their run; counts: what searches have counted in theirs. pictures: what
    searches have drawn, as HTML. traffic: what the statement has asked of object stores.
    """

    time_ms: float
    kernel_ms: Mapping[FusedScanAggregate, float]
    nodes: Mapping[int, tuple[int, float]]
    ran_on: Mapping[_Job, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    counts: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    pictures: Sequence[str] = ()
    traffic: Traffic | None = None


_NOT_MEASURED = Measured(0.0, {}, {})


def describe(
    plan: PhysicalPlan,
    measured: Measured | None = None,
    states: Mapping[int, Mapping[str, str]] | None = None,
) -> dict[str, Any]:
    """Return {"path", "ways", "reasons", "plan"}, and "time_ms" where measured, as JSON values.

    Where object stores were asked, "object_stores" has the counts of `Traffic`. The path is "fused"
    when any part runs as a fused job; the ways say how many aggregates run in which; the reasons
    say of every other aggregate (or of a plan without one) why it is not fused.
    states: see `search_states`.
    """
    tree = _described(plan, set(), measured or _NOT_MEASURED, states or {})
    nodes = list(_walk(tree))
    fused = any(node["node"] in FUSED for node in nodes)
    reasons = [node["general path"] for node in nodes if "general path" in node]
    if not fused and not reasons:
        reasons = ["the query has no aggregate"]
    times: dict[str, Any] = {} if measured is None else {"time_ms": measured.time_ms}
    if measured is not None and measured.traffic is not None and measured.traffic.requests:
        times["object_stores"] = asdict(measured.traffic)
    path = "fused" if fused else "general"
    return {"path": path, "ways": _ways(nodes), "reasons": reasons, **times, "plan": tree}


def _ways(nodes: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many aggregates run in which way."""
    ways = [_WAYS.get(node["node"], _GENERAL if "general path" in node else "") for node in nodes]
    return {way: ways.count(way) for way in (*_WAYS.values(), _GENERAL) if way in ways}


def search_states(
    plan: PhysicalPlan, tables: Mapping[str, Table], cache: Any
) -> dict[int, Mapping[str, str]]:
    """Return what searches have to say at the moment, by the identity of their nodes.

    cache: the engine's, of what is derived from tables.
    """
    found = {}
    waiting = [plan]
    for node in waiting:
        waiting += node.children
        if isinstance(node, SearchRows):
            found[id(node)] = node.function.state(node, tables, cache)
    return found


def render(described: Mapping[str, Any]) -> list[str]:
    """Return the lines of EXPLAIN for a plan as `describe` describes it."""
    reasons = "; ".join(described["reasons"])
    path = described["path"]
    if path == "general" and reasons:
        path += f" ({reasons})"
    ways = described["ways"]
    lines = [f"path: {path}"]
    if sum(ways.values()) > 1:
        listed = ", ".join(f"{count} {way}" for way, count in ways.items())
        lines.append(f"aggregates: {listed}")
    if "cluster" in described:
        lines.append(f"cluster: {described['cluster']}")
    lines += _render(described["plan"], 0)
    if "object_stores" in described:
        lines.append(f"object stores: {traffic_text(described['object_stores'])}")
    return [*lines, f"time: {described['time_ms']:.3f} ms"] if "time_ms" in described else lines


def traffic_text(counts: Mapping[str, int]) -> str:
    """Return what was asked of object stores as EXPLAIN says it.

    >>> traffic_text({"requests": 3, "trips": 1, "received": 2048, "sent": 0})
    '3 requests in 1 trip, 2 KB received'
    """
    said = [f"{_counted(counts['requests'], 'request')} in {_counted(counts['trips'], 'trip')}"]
    said += [f"{size_text(counts[way])} {way}" for way in ("received", "sent") if counts[way]]
    return ", ".join(said)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


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
    lines_of = _LINES.get(node["node"])
    details = _other_lines(node) if lines_of is None else lines_of(node)
    if "ran_on" in node:
        details["ran on"] = node["ran_on"]
    if "rows" in node:
        count = "1 row" if node["rows"] == 1 else f"{node['rows']} rows"
        details["gave"] = f"{count} in {node['time_ms']:.3f} ms"
    return details


def _other_lines(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return what texts say of a node, beside its title and where it ran."""
    said = {name: value for name, value in node.items() if value and isinstance(value, str)}
    others = {name: said[name] for name in said if name not in ("node", "summary", "ran_on")}
    return {**node.get("change", {}), **others}


def _walk(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(below for child in node["children"] for below in _walk(child))]


def _described(
    plan: PhysicalPlan, seen: set[int], measured: Measured, states: Mapping[int, Mapping[str, str]]
) -> dict[str, Any]:
    """Return a plan as JSON values; a shared query is described where it comes first."""
    node = {"node": plan.explain_name, "summary": plan.summary, **plan.details, "children": []}
    if isinstance(plan, CommonTable):
        if plan.number in seen:
            return {**node, "summary": f"{plan.name}, as above", "children": []}
        seen.add(plan.number)
    if isinstance(plan, FusedScanAggregate):
        node |= {"kernel_ms": measured.kernel_ms[plan]} if plan in measured.kernel_ms else {}
    if isinstance(plan, _Job):
        node |= {"ran_on": measured.ran_on[plan]} if plan in measured.ran_on else {}
    if id(plan) in measured.nodes:
        node["rows"], node["time_ms"] = measured.nodes[id(plan)]
    node |= states.get(id(plan), {})
    node |= {"ran": measured.notes[id(plan)]} if id(plan) in measured.notes else {}
    if isinstance(plan, SearchRows) and id(plan) in measured.counts:
        node |= plan.function.measured(measured.counts[id(plan)])
    children = [_described(child, seen, measured, states) for child in plan.children]
    return {**node, "children": children}
