"""Random aggregates and window functions."""

from __future__ import annotations

from dataclasses import replace

from random_expressions import (
    Scope,
    Value,
    Writer,
    constant,
    expression,
    leaf,
    operand,
    predicate,
)

# The kind of aggregates whose last digits differ, so that nothing may depend on them.
INEXACT = "inexact"


def aggregate(w: Writer, scope: Scope, depth: int) -> Value:
    """Return an aggregate over an expression, perhaps of distinct values, perhaps filtered."""
    asked = w if w.takes("subquery in aggregate", 0.1) else w.without_queries()
    found = unfiltered(asked, scope, depth)
    if w.takes("filter", 0.15):
        found = replace(found, sql=f"{found.sql} FILTER (WHERE {predicate(asked, scope, 1)})")
    if found.kind == "decimal" and found.sql.startswith("SUM"):
        # Of 38 digits, DuckDB gives some of the fraction's away when they meet another type.
        return replace(found, sql=f"CAST({found.sql} AS DECIMAL(18, 6))")
    return found


def unfiltered(w: Writer, scope: Scope, depth: int) -> Value:
    kind = w.rng.choice([column.kind for column in scope.columns])
    value = expression(w, scope, kind, depth - 1).sql
    shape = w.rng.randrange(9)
    if shape == 0:
        return Value("COUNT(*)", "integer", 10**4)
    if shape == 1:
        return Value(f"COUNT({value})", "integer", 10**4)
    if shape == 2 and w.takes("count distinct"):
        return Value(f"COUNT(DISTINCT {value})", "integer", 10**4)
    if shape == 3 and w.takes("bool aggregate"):
        function = w.rng.choice(("BOOL_AND", "BOOL_OR"))
        return Value(f"{function}({predicate(w, scope, 1)})", "boolean")
    if shape == 4 and w.takes("string_agg"):
        shown = expression(w, scope, "text", 1).sql
        return Value(f"STRING_AGG({shown}, '|' ORDER BY {shown})", "text")
    if shape == 5 and depth > 1 and w.takes("variance"):
        function = w.rng.choice(("STDDEV_SAMP", "VAR_POP", "STDDEV", "VAR_SAMP", "STDDEV_POP"))
        return Value(f"{function}({operand(w, scope, 'integer', 1).sql})", INEXACT)
    if shape <= 7 or kind == "boolean":
        number = w.rng.choice(("integer", "integer", "double", "decimal"))
        asked = operand(w, scope, number, depth - 1).sql
        distinct = w.rng.choice(("", "", "", "DISTINCT "))
        if w.rng.random() < 0.3 and (number != "decimal" or depth > 1):
            return Value(f"AVG({distinct}{asked})", INEXACT if number == "decimal" else "double")
        return Value(f"SUM({distinct}{asked})", number)
    return Value(f"{w.rng.choice(('MIN', 'MAX'))}({value})", kind)


# Windows

WINDOW_FUNCTIONS = (
    *("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"),
    *("first_value", "last_value", "nth_value", "count", "sum", "sum", "avg", "max"),
)
# Their values depend on the order of peers.
TOTAL_FUNCTIONS = {"row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"}
FRAMED_FUNCTIONS = {"first_value", "last_value", "nth_value", "count", "sum", "avg", "max"}


def window(
    w: Writer, scope: Scope, key: tuple[str, ...], functions: tuple[str, ...] = WINDOW_FUNCTIONS
) -> Value:
    """Return a window function over rows that `key` tells apart."""
    w = w.without_queries()
    function = w.rng.choice(functions)
    call = window_call(w, scope, function)
    parts = []
    sorts, frame = order_and_frame(w, scope, key, function)
    if w.rng.random() < 0.6 or not (sorts or w.takes("empty window")):
        parts.append(f"PARTITION BY {w.rng.choice(scope.columns).sql}")
    if sorts:
        parts.append(f"ORDER BY {', '.join(sorts)}")
    if frame:
        parts.append(frame)
    return replace(call, sql=f"{call.sql} OVER ({' '.join(parts)})")


def window_call(w: Writer, scope: Scope, function: str) -> Value:
    argument = leaf(w, scope, w.rng.choice(scope.columns).kind)
    value, kind = argument.sql, argument.kind
    number = operand(w, scope, "integer", 0).sql
    match function:
        case "ntile":
            return Value(f"NTILE({w.rng.randint(1, 4)})", "integer")
        case "lag":
            return Value(f"LAG({value}, {w.rng.randint(0, 3)})", kind)
        case "lead":
            return Value(f"LEAD({value}, 1, {constant(w, kind).sql})", kind)
        case "first_value" | "last_value":
            return Value(f"{function.upper()}({value})", kind)
        case "nth_value":
            return Value(f"NTH_VALUE({value}, {w.rng.randint(1, 3)})", kind)
        case "count":
            return Value(w.rng.choice(("COUNT(*)", f"COUNT({value})")), "integer")
        case "sum":
            return Value(f"SUM({number})", "integer")
        case "avg":
            return Value(f"AVG({number})", "double")
        case "max" if kind != "boolean":
            return Value(f"MAX({value})", kind)
        case "max":
            return Value(f"COUNT({value})", "integer")
        case "percent_rank" | "cume_dist":
            return Value(f"{function.upper()}()", "double")
        case _:
            return Value(f"{function.upper()}()", "integer")


def order_and_frame(
    w: Writer, scope: Scope, key: tuple[str, ...], function: str
) -> tuple[list[str], str]:
    """Return sort keys and a frame that leave no choice: rows are told apart where it matters."""
    total = function in TOTAL_FUNCTIONS
    sorts = [w.rng.choice(scope.columns).sql] if w.rng.random() < 0.6 else []
    frame = ""
    if function in FRAMED_FUNCTIONS:
        numbers = [c.sql for c in scope.columns if c.kind == "integer" and c.bound]
        if numbers and not total and w.takes("frame range", 0.2):
            bounds = frame_bounds(w, (0, 1, 5))
            return [direction(w, w.rng.choice(numbers))], f"RANGE BETWEEN {bounds}"
        frame = random_frame(w, bool(sorts))
    if total or frame.startswith("ROWS"):
        sorts += [name for name in key if name not in sorts]
    return [direction(w, name) for name in sorts], frame


def random_frame(w: Writer, is_sorted: bool) -> str:
    """Return a frame of rows or of groups of peers, or none."""
    if w.takes("frame rows", 0.4):
        frame = f"ROWS BETWEEN {frame_bounds(w, (0, 1, 3))}"
    elif is_sorted and w.takes("frame groups", 0.3):
        frame = f"GROUPS BETWEEN {frame_bounds(w, (0, 1, 2))}"
    else:
        return ""
    if w.takes("frame exclude", 0.15):
        frame += f" EXCLUDE {w.rng.choice(('CURRENT ROW', 'GROUP', 'TIES', 'NO OTHERS'))}"
    return frame


def frame_bounds(w: Writer, offsets: tuple[int, ...]) -> str:
    """Return two bounds, the first not after the second."""
    near = sorted(w.rng.choices(offsets, k=2))
    return w.rng.choice(
        (
            "UNBOUNDED PRECEDING AND CURRENT ROW",
            "CURRENT ROW AND UNBOUNDED FOLLOWING",
            "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
            f"{near[1]} PRECEDING AND {near[0]} PRECEDING",
            f"{near[0]} PRECEDING AND {near[1]} FOLLOWING",
            f"{near[0]} FOLLOWING AND {near[1]} FOLLOWING",
            f"{near[0]} PRECEDING AND CURRENT ROW",
        )
    )


def direction(w: Writer, key: str) -> str:
    """Return a sort key with a direction and a place for NULLs."""
    text = key + w.rng.choice(("", " ASC", " DESC"))
    if w.takes("implicit null order", 0.1):
        return text
    return f"{text} NULLS {w.rng.choice(('FIRST', 'LAST'))}"
