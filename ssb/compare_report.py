"""The report of `raydb-ssb compare`: two tables and a summary, the figures as JSON, a bar chart."""

from __future__ import annotations

import dataclasses
import statistics
from typing import TYPE_CHECKING, Any

from raydb.ssb import charts
from raydb.ssb.compare import KINDS
from raydb.ssb.run import open_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from raydb.ssb.compare import Comparison
    from raydb.ssb.machine import Timing
    from raydb.ssb.rivals.raydb_rival import OwnFigures


def print_comparison(found: Comparison, out: Console) -> None:
    """Print the tables and what they come to."""
    out.print(_times(found))
    out.print()
    out.print(_kernels(found))
    lines = [*_means(found), *_builds(found), *found.own.notes]
    lines += [f"WRONG: {line}" for line in found.fault_lines()]
    out.print("\n" + "\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def as_json(found: Comparison) -> dict[str, Any]:
    """Return all figures as JSON values."""
    return {
        "scale_factor": found.options.scale_factor,
        "seed": found.options.seed,
        "workload": found.options.workload,
        "runs": found.options.runs,
        "machine": found.machine,
        "row_count": found.row_count,
        "flat_bytes": found.flat_bytes,
        "bandwidth_bytes_per_s": found.own.bandwidth,
        "raydb": {
            "load_s": found.own.load_s,
            "build_s": found.own.build_s,
            "bvh_bytes": found.own.bvh_bytes,
            "notes": found.own.notes,
            "cold_start_ms": found.cold_start_ms,
        },
        "memory": found.memory,
        "rivals": {
            name: {
                "version": rival.version,
                "load_s": rival.load_s,
                "build_s": rival.build_s,
                "geometric_means": {kind: _mean(found.ratios(name, kind)) for kind in KINDS},
            }
            for name, rival in found.rivals.items()
        },
        "left_out": found.left_out,
        "queries": [_query(found, figures) for figures in found.own.queries],
        "wrong": found.fault_lines(),
    }


def as_svg(found: Comparison) -> str:
    """Return the medians as a bar chart, a group for each query."""
    names = [figures.name for figures in found.own.queries]
    series: dict[str, list[float | None]] = {
        "RayDB": [figures.repeated.median_ms for figures in found.own.queries]
    }
    for name, rival in found.rivals.items():
        times = rival.times
        series[name] = [times[query].median_ms if query in times else None for query in names]
    what = "the 13 queries" if found.options.workload == "star" else "20 other queries"
    title = f"Star Schema Benchmark, scale factor {found.options.scale_factor:g}: {what}"
    return charts.bar_chart(title, "ms", names, series)


def _query(found: Comparison, figures: OwnFigures) -> dict[str, Any]:
    return {
        "name": figures.name,
        "row_count": figures.row_count,
        "bvh": figures.plan.bvh,
        "backend": figures.plan.backend,
        "rows_touched": figures.plan.rows_touched,
        **{kind: _timing(getattr(figures, kind)) for kind in KINDS},
        "is_kept": figures.is_kept,
        "sieved_ms_median": figures.sieved_ms,
        "kernel": None if figures.kernel is None else dataclasses.asdict(figures.kernel),
        "fixed_us": figures.fixed_us,
        "memory_ms": found.memory_ms(figures),
        "rivals": {
            name: _timing(rival.times.get(figures.name)) for name, rival in found.rivals.items()
        },
    }


def _timing(found: Timing | None) -> dict[str, Any] | None:
    return None if found is None else found._asdict()


def _times(found: Comparison) -> Table:
    title = f"Star Schema Benchmark, scale factor {found.options.scale_factor:g}: ms, text to rows"
    rivals = [column for name in found.rivals for column in (name, "times faster")]
    ratios = {(name, kind): found.ratios(name, kind) for name in found.rivals for kind in KINDS}
    own_columns = ("query", "repeated", "new constants", "new text", "sieved")
    table = open_table(title, (*own_columns, *rivals))
    for one in found.own.queries:
        own = (one.repeated, one.new_constants, one.new_text)
        cells = [_ms(each and each.median_ms) for each in own] + [_ms(one.sieved_ms)]
        for name, rival in found.rivals.items():
            theirs = rival.times.get(one.name)
            by_kind = (ratios[name, kind].get(one.name) for kind in KINDS)
            cells.append(_ms(theirs and theirs.median_ms))
            cells.append(" / ".join("-" if each is None else f"{each:,.3g}" for each in by_kind))
        table.add_row(one.name + (" WRONG" if one.faults else ""), *cells)
    return table


def _kernels(found: Comparison) -> Table:
    title = (
        "What RayDB reads, beside plain sums of as many bytes again and again (read), and from "
        f"memory at {found.own.bandwidth / 1e9:.1f} GB/s"
    )
    names = (
        "query", "BVH", "rows", "touched", "bytes", "kernel us", "read us", "kernel / read",
        "memory us", "fixed us",
    )  # fmt: skip
    table = open_table(title, names)
    for one in found.own.queries:
        touched, kernel, memory_ms = one.plan.rows_touched, one.kernel, found.memory_ms(one)
        cells = ["-"] * 6
        if kernel is not None and memory_ms is not None:
            cells = [
                f"{kernel.bytes_touched:,}",
                f"{kernel.time_ms * 1000:,.0f}",
                f"{kernel.read_ms * 1000:,.1f}",
                f"{kernel.time_ms / kernel.read_ms:,.1f}",
                f"{memory_ms * 1000:,.1f}",
                f"{one.fixed_us:,.0f}",
            ]
        table.add_row(
            one.name,
            one.plan.served_by,
            f"{one.row_count:,}",
            "-" if touched is None else f"{touched:,}",
            *cells,
        )
    return table


def _means(found: Comparison) -> list[str]:
    lines = []
    for name, rival in found.rivals.items():
        parts = []
        for kind in KINDS:
            ratios = found.ratios(name, kind)
            if ratios:
                least = min(ratios, key=ratios.__getitem__)
                what = kind.replace("_", " ")
                parts.append(
                    f"{_mean(ratios):,.1f}x {what} (least {ratios[least]:,.2f}x at {least})"
                )
        if parts:
            lines.append(f"{name} {rival.version}, geometric means: {', '.join(parts)}")
    lines.append(_spreads(found))
    kept = [one.name for one in found.own.queries if one.is_kept]
    if kept:
        lines.append(
            f"repeated, {', '.join(kept)} read nothing, for their counts are kept with their"
            " plans: no ratio"
        )
    return lines


def _spreads(found: Comparison) -> str:
    """Say how far the quartiles of an engine's queries are apart: of most queries, and at most."""
    own = [one.repeated.spread for one in found.own.queries]
    spreads = {"RayDB": own}
    spreads |= {
        name: [one.spread for one in run.times.values()] for name, run in found.rivals.items()
    }
    parts = [
        f"{name} {statistics.median(each):.0%} (at most {max(each):.0%})"
        for name, each in spreads.items()
        if each
    ]
    return f"between the quartiles, of the median: {', '.join(parts)}"


def _builds(found: Comparison) -> list[str]:
    parts = [f"four BVHs built in {found.own.build_s:.1f} s"]
    parts += [
        f"{name}'s copies in {rival.build_s:.1f} s"
        for name, rival in found.rivals.items()
        if rival.build_s is not None
    ]
    lines = [", ".join(parts)]
    if found.own.bvh_bytes:
        sizes = (
            f"{name} {size / found.row_count:.1f}" for name, size in found.own.bvh_bytes.items()
        )
        lines.append(f"bytes a row: {', '.join(sizes)}")
    for name, memory in found.memory.items():
        moments = {"at most": "peak_bytes", "loaded": "loaded_bytes"}
        if "build_peak_bytes" in memory:
            moments["while BVHs were built"] = "build_peak_bytes"
        figures = (
            f"{memory[key] / 1e9:.2f} GB {moment} ({memory[key] / found.flat_bytes:.1f}x)"
            for moment, key in moments.items()
        )
        lines.append(
            f"memory of {name}: {', '.join(figures)}; the flat columns are "
            f"{found.flat_bytes / 1e9:.2f} GB"
        )
    if found.cold_start_ms is not None:
        lines.append(f"q1.1 from a cold process: {found.cold_start_ms:.0f} ms")
    return lines


def _mean(ratios: dict[str, float]) -> float | None:
    return statistics.geometric_mean(ratios.values()) if ratios else None


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if value < 10 else f"{value:.1f}"
