"""Plain star queries that a BVH answers alone, as dashboards ask them: conditions, keys, totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

ATTRIBUTES = {
    "region": ("'EAST'", "'NORTH'", "'WEST'", "'NOWHERE'", "''"),
    "city": ("'E0'", "'E1'", "'N0'", "'W2'", "'X'"),
    "year": ("1992", "1993", "1995", "1998", "0", "99999"),
    "day": ("DATE '2024-01-01'", "DATE '2024-02-29'", "DATE '1970-01-01'"),
    "rate": ("0.25", "1.50", "7.00", "0", "3"),
    "brand": ("'B1'", "'B12'", "'B3'", "'Z'"),
    "size": ("1", "2", "3", "12", "100"),
}
TOTALS = ("sum(amount)", "count(*)", "min(amount)", "max(weight)", "avg(amount)", "count(weight)")
BVHS = (
    "CREATE BVH places ON f (SCAN (region, city, year), GROUP BY (brand), AGGREGATE (amount))",
    "CREATE BVH brands ON f (SCAN (brand, size, year), GROUP BY (city, region),"
    " AGGREGATE (amount, weight))",
    "CREATE BVH days ON f (SCAN (day, rate, region), GROUP BY (size), AGGREGATE (amount, weight))",
)


def plain_star(rng: Random) -> Iterator[str]:
    """Yield the statements that make tables and BVHs."""
    yield (
        "CREATE TABLE place (p_id INTEGER PRIMARY KEY, region VARCHAR, city VARCHAR);"
        "CREATE TABLE part (t_id INTEGER PRIMARY KEY, brand VARCHAR, size SMALLINT);"
        "CREATE TABLE f (p_id INTEGER REFERENCES place, t_id INTEGER REFERENCES part,"
        " year INTEGER, day DATE, rate DECIMAL(5,2), amount INTEGER, weight BIGINT)"
    )
    regions = ("EAST", "NORTH", "WEST")
    places = [
        f"({number}, '{regions[number % 3]}', '{regions[number % 3][0]}{number % 4}')"
        for number in range(9)
    ]
    yield f"INSERT INTO place VALUES {', '.join(places)}, (9, NULL, NULL)"
    parts = [f"({number}, 'B{number % 14}', {number % 5})" for number in range(20)]
    yield f"INSERT INTO part VALUES {', '.join(parts)}"
    yield insert(rng, rng.choice((1, 60, 400)))
    yield from rng.sample(BVHS, rng.choice((1, 2, 3)))


def insert(rng: Random, count: int) -> str:
    """Return an INSERT of some rows of the fact table."""
    rows = (
        f"({rng.randrange(10)}, {rng.randrange(20)}, {rng.choice(('NULL', *range(1992, 1999)))},"
        f" {rng.choice(ATTRIBUTES['day'])}, {rng.randrange(30) / 4}, {rng.randrange(-50, 900)},"
        f" {rng.choice(('NULL', rng.randrange(2**40)))})"
        for _ in range(count)
    )
    return f"INSERT INTO f VALUES {', '.join(rows)}"


def plain_change(rng: Random) -> str:
    """Return a statement that changes rows or BVHs; some are refused."""
    changes = (
        insert(rng, 3),
        f"DELETE FROM f WHERE year = {rng.randrange(1992, 1999)} AND amount < 100",
        f"UPDATE f SET amount = amount + 1 WHERE t_id = {rng.randrange(20)}",
        f"UPDATE place SET city = 'E9' WHERE p_id = {rng.randrange(10)}",
        f"DROP BVH {rng.choice(('places', 'brands', 'days'))}",
        "CHECKPOINT",
        *BVHS,
    )
    return rng.choice(changes)


def plain_query(rng: Random) -> str:
    """Return a query; its order leaves no choice where it has a limit."""
    # Mostly what one BVH has; the others lack some of it.
    held = rng.choice((*BVHS, *BVHS, "".join(BVHS)))
    names = [name for name in sorted(ATTRIBUTES) if name in held]
    conditions = [condition(rng, rng.choice(names)) for _ in range(rng.choice((1, 1, 2, 3)))]
    conditions += [branches(rng, names) for _ in range(rng.choice((0, 0, 0, 1, 1, 2)))]
    keys = rng.sample(names, min(rng.choice((0, 0, 1, 1, 2, 3)), len(names)))
    known = [total for total in TOTALS if "weight" in held or "weight" not in total]
    known += [f"count(DISTINCT {name})" for name in rng.sample(names, 2)]
    totals = rng.sample(known, rng.choice((1, 1, 2)))
    text = f"SELECT {', '.join([*keys, *totals])} FROM f JOIN place USING (p_id)"
    text += f" JOIN part USING (t_id) WHERE {' AND '.join(conditions)}"
    if not keys:
        return text
    text += f" GROUP BY {', '.join(keys)}"
    if rng.random() < 0.1:
        text += f" HAVING count(*) > {rng.randrange(3)}"
    if rng.random() < 0.7:
        order = [f"{key} {rng.choice(('', 'DESC'))} NULLS LAST" for key in keys]
        text += f" ORDER BY {', '.join([*rng.sample(totals, rng.choice((0, 1))), *order])}"
        if rng.random() < 0.3:
            text += f" LIMIT {rng.randrange(5)} OFFSET {rng.randrange(3)}"
    return text


SCANNED = (
    *TOTALS,
    "sum(amount + weight)",
    "sum(CASE WHEN size > 2 THEN amount ELSE 0 END)",
    "sum(amount) FILTER (WHERE region = 'EAST')",
    "count(DISTINCT year)",
    "count(DISTINCT brand)",
)


def scanned_query(rng: Random) -> str:
    """Return a query that mostly no BVH answers alone."""
    names = sorted(ATTRIBUTES)
    compared = ("region < city", "city = region", "year > size", "NOT year = size", "brand >= city")
    conditions = [condition(rng, rng.choice(names)) for _ in range(rng.choice((1, 1, 2, 3)))]
    conditions += [branches(rng, names) for _ in range(rng.choice((0, 0, 1)))]
    conditions += rng.sample(compared, rng.choice((0, 0, 1)))
    keys = rng.sample(names, rng.choice((0, 1, 1, 2)))
    totals = rng.sample(SCANNED, rng.choice((1, 2, 2)))
    text = f"SELECT {', '.join([*keys, *totals])} FROM f JOIN place USING (p_id)"
    text += f" JOIN part USING (t_id) WHERE {' AND '.join(conditions)}"
    text += f" GROUP BY {', '.join(keys)}" if keys else ""
    if keys and rng.random() < 0.2:
        text += f" HAVING {rng.choice(totals)} > {rng.randrange(900)}"
    return text


def branches(rng: Random, names: list[str]) -> str:
    """Return a condition with OR over several attributes, some of which may be compared twice."""
    parts = [
        " AND ".join(condition(rng, rng.choice(names)) for _ in range(rng.choice((1, 1, 2))))
        for _ in range(rng.choice((2, 2, 3)))
    ]
    return f"({' OR '.join(parts)})"


def condition(rng: Random, name: str) -> str:
    """Return a condition over an attribute."""
    values = ATTRIBUTES[name]
    one, other = rng.choice(values), rng.choice(values)
    forms = [
        f"{name} {rng.choice(('=', '=', '=', '<>', '<', '<=', '>', '>='))} {one}",
        f"{one} {rng.choice(('<', '='))} {name}",
        f"{name} BETWEEN {one} AND {other}",
        f"{name} IN ({one}, {other})",
        f"({name} = {one} OR {name} = {other})",
        f"NOT ({name} = {one} OR {name} IS NULL)",
    ]
    if values[0].startswith("'"):
        forms.append(f"{name} LIKE '{rng.choice(('E%', '%1', '_1', 'N_', 'B1%'))}'")
    else:
        forms.append(f"{name} + 1 > {one}" if name != "day" else f"{name} > {one} - 1")
    return rng.choice(forms)
