"""EXPLAIN (FORMAT HTML): one page that needs nothing else, with the plan and its picture.

What names and constants say is text on the page, whatever they hold. Should it ever be more, the
page's policy runs no script but the template's, and loads nothing.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from dataclasses import asdict
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from raydb.engine.fused.picture import draw
from raydb.planner.explain import FUSED, details_of, traffic_text
from raydb.planner.stars.fused_scan import FusedScanAggregate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.planner.plan.nodes import PhysicalPlan

_MARK = re.compile(r"\{\{(\w+)\}\}")


def explain_page(
    plan: PhysicalPlan, described: Mapping[str, Any], drawn: Sequence[str] = ()
) -> str:
    """Return the page of a plan, which `described` says in JSON values.

    Each job on a BVH has a picture. drawn: HTML that searches have drawn in their run.
    """
    data = json.dumps([asdict(draw(job)) for job in _jobs(plan)])
    template, policy = _template()
    parts = {
        "policy": policy,
        "summary": _summary(described),
        "plan": _node(described["plan"], _most_ms(described["plan"])),
        "drawn": "".join(drawn),
        "pictures": data.replace("<", "\\u003c"),  # no tag within ends the script or begins one
    }
    # In one pass: a part may hold the mark of another.
    return _MARK.sub(lambda mark: parts[mark[1]], template)


@functools.cache
def _template() -> tuple[str, str]:
    """Return the page without its parts, and the policy that allows its script and its style."""
    folder = files("raydb.engine.session")
    template = folder.joinpath("explain.html").read_text(encoding="utf-8")
    drawing = folder.joinpath("picture.js").read_text(encoding="utf-8")
    template = template.replace("{{drawing}}", drawing)
    (script,) = re.findall("<script>(.*?)</script>", template, re.DOTALL)
    (style,) = re.findall("<style>(.*?)</style>", template, re.DOTALL)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)};"
        " base-uri 'none'; form-action 'none'"
    )
    return template, policy


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _jobs(plan: PhysicalPlan) -> Iterator[FusedScanAggregate]:
    if isinstance(plan, FusedScanAggregate):
        yield plan
    for source in plan.children:
        yield from _jobs(source)


def _summary(described: Mapping[str, Any]) -> str:
    """Return the facts that say why the query is fast or slow."""
    facts = [("path", described["path"])]
    facts += [("why", reason) for reason in described["reasons"]]
    if "time_ms" in described:
        facts.append(("time", f"{described['time_ms']:.3f} ms"))
    if "object_stores" in described:
        facts.append(("object stores", traffic_text(described["object_stores"])))
    for node in _walk(described["plan"]):
        if node["node"] == "FusedScanAggregate":
            share = 100 * node["rows_touched"] / max(node["rows_total"], 1)
            facts.append(
                (
                    f"rows of {node['bvh']}",
                    f"{node['rows_touched']:,} of {node['rows_total']:,} ({share:.3g} %)",
                )
            )
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    return f"<dl>{items}</dl>"


def _walk(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [node, *(below for child in node["children"] for below in _walk(child))]


def _most_ms(node: Mapping[str, Any]) -> float:
    return max((each.get("time_ms", 0.0) for each in _walk(node)), default=0.0)


def _node(node: Mapping[str, Any], most_ms: float) -> str:
    """Return a node with what it reads from below it."""
    kind = "fused" if node["node"] in FUSED else "general"
    details = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in details_of(node).items()
    )
    bar = ""
    if most_ms and "time_ms" in node:
        width = 100 * node["time_ms"] / most_ms
        # No style attribute, which the policy would forbid.
        bar = f'<svg class="bar"><rect width="{width:.1f}%" height="100%"/></svg>'
    table = f"<table>{details}</table>" if details else ""
    children = "".join(f"<li>{_node(child, most_ms)}</li>" for child in node["children"])
    below = f"<ul>{children}</ul>" if children else ""
    return (
        f'<details class="{kind}" open><summary><b>{escape(node["node"])}</b> '
        f"{escape(node['summary'])}{bar}</summary>{table}</details>{below}"
    )
