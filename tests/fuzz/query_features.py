"""What random queries may use, and which engines take it."""

from __future__ import annotations

FEATURES = frozenset(
    """
    between
    bool aggregate
    case
    cast
    coalesce
    column aliases
    correlated grouping sets
    count distinct
    cross join
    cte
    cube
    date arithmetic
    date function
    decimal
    derived table
    distinct
    distinct on
    empty window
    escape
    except
    except all
    exists
    filter
    frame exclude
    frame groups
    frame range
    frame rows
    full join
    full join on anything
    greatest
    group by
    group by all
    grouping function
    grouping sets
    having
    ilike
    implicit null order
    in list
    in subquery
    integer division
    intersect
    intersect all
    interval
    is boolean
    is distinct from
    lateral
    lateral left join
    left join
    like
    limit
    math function
    mixed numbers
    not in subquery
    null literal
    nullif
    numeric function
    order by name
    qualify
    quantified
    recursive cte
    right join
    rollup
    row in subquery
    row value
    scalar subquery
    semi join
    set operation in parentheses
    string_agg
    subquery in aggregate
    subquery in on
    subquery in outer on
    text function
    unicode case
    union
    union all
    using
    values
    variance
    window
    window over aggregate
    """.strip().split("\n    ")
)

# Features that are left out, because RayDB refuses some of their forms. What is not here may not be
# refused.
OFF: frozenset[str] = frozenset()

# What SQLite does not take, or takes differently: types (decimals are doubles, dates are texts),
# ILIKE, NULLs in GREATEST, and where NULLs come in an order. SQLite 3.40 loses rows of a RIGHT JOIN
# behind a join with a derived table.
NOT_IN_SQLITE = frozenset(
    """
    bool aggregate
    column aliases
    cube
    date arithmetic
    date function
    decimal
    distinct on
    except all
    full join
    greatest
    group by all
    grouping function
    grouping sets
    ilike
    implicit null order
    intersect all
    interval
    lateral
    lateral left join
    math function
    mixed numbers
    qualify
    quantified
    right join
    rollup
    semi join
    set operation in parentheses
    string_agg
    unicode case
    values
    variance
    """.strip().split("\n    ")
)

# DuckDB compares rows as structs, for which NULL equals NULL; by the standard it is unknown. DuckDB
# 2.0.0 ends the process for `OVER ()` over a FULL JOIN whose condition has no equality.
NOT_IN_DUCKDB = frozenset({"row value", "row in subquery", "empty window"})

assert FEATURES >= OFF | NOT_IN_SQLITE | NOT_IN_DUCKDB
