"""66 forms of queries over a star of sales beside DuckDB, with BVHs and without.

    python tests/bench/bench_forms.py [--rows 5000000] [--runs 5] [--threads 2]
        [--groups filter,keys] [--json results.json]

`forms.sql` has the forms: what people and BI tools write about a star. The data are made with a
seed. Both engines hold them in memory, in the same process and on as many threads; RayDB with the
keys declared. Every answer is compared before the clock starts, with BVHs and without. The engines
take turns; a time is the median of several runs, each with a text of its own, so that it has the
plan in it. A ratio is RayDB's time by DuckDB's.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import math
import re
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import numba
import numpy as np
import pyarrow as pa
from in_turns import medians

import raydb

FORMS = Path(__file__).parent / "forms.sql"
SEED = 19

# A form is repeated no longer than this.
REPEAT_SECONDS = 20.0

KEYS = {
    "day": "PRIMARY KEY (d_id)",
    "item": "PRIMARY KEY (i_id)",
    "store": "PRIMARY KEY (s_id)",
    "customer": "PRIMARY KEY (c_id)",
    "promo": "PRIMARY KEY (p_id)",
    "sales": "PRIMARY KEY (sale_id), FOREIGN KEY (day_id) REFERENCES day, FOREIGN KEY (item_id)"
    " REFERENCES item, FOREIGN KEY (store_id) REFERENCES store, FOREIGN KEY (customer_id)"
    " REFERENCES customer, FOREIGN KEY (promo_id) REFERENCES promo",
    "returns": "FOREIGN KEY (r_sale) REFERENCES sales, FOREIGN KEY (r_day) REFERENCES day,"
    " FOREIGN KEY (r_store) REFERENCES store",
}

BVHS = (
    "CREATE BVH by_time ON sales (SCAN (d_year, d_month, s_state),"
    " GROUP BY (d_quarter, d_week, d_date, s_city), AGGREGATE (price, quantity, price * quantity))",
    "CREATE BVH by_item ON sales (SCAN (i_category, i_brand, d_year, s_state),"
    " GROUP BY (i_price), AGGREGATE (price, quantity))",
    "CREATE BVH by_promo ON sales (SCAN (p_kind, d_year, s_state), AGGREGATE (price))",
    "CREATE BVH by_quantity ON sales (SCAN (quantity, d_year), AGGREGATE (price))",
    "CREATE BVH returned ON returns (SCAN (r_day.d_year, r_store.s_state),"
    " AGGREGATE (amount, -amount))",
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A form's median times in ms, or what is wrong with its answer."""

    group: str
    sql: str
    path: str
    duckdb_ms: float
    raydb_ms: float | None
    problem: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.raydb_ms is None else self.raydb_ms / self.duckdb_ms


# Data


def money(rng: np.random.Generator, count: int) -> pa.Array:
    """Return amounts below 100 as DECIMAL(7, 2)."""
    cents = rng.integers(0, 10_000, count)
    words = np.stack([cents, np.zeros_like(cents)], axis=1)
    return pa.Array.from_buffers(pa.decimal128(7, 2), count, [None, pa.py_buffer(words)])


def texts(prefix: str, numbers: np.ndarray) -> pa.Array:
    return pa.array([f"{prefix}{number}" for number in numbers.tolist()])


def star(rows: int) -> dict[str, pa.Table]:
    """Return the tables of a star with some sales, dimensions before what refers to them."""
    rng = np.random.default_rng(SEED)
    days, items, stores = np.arange(1461), np.arange(18_000), np.arange(120)
    customers, promos = np.arange(max(rows // 50, 10)), np.arange(300)
    dates = np.datetime64("2020-01-01") + days
    months = dates.astype("datetime64[M]").astype(int) % 12 + 1
    tables = {
        "day": {
            "d_id": days,
            "d_date": pa.array(dates),
            "d_year": dates.astype("datetime64[Y]").astype(int) + 1970,
            "d_quarter": (months + 2) // 3,
            "d_month": months,
            "d_week": days // 7,
        },
        "item": {
            "i_id": items,
            "i_name": texts("item ", items),
            "i_brand": texts("B", items % 200),
            "i_category": texts("C", items % 10),
            "i_price": money(rng, len(items)),
        },
        "store": {
            "s_id": stores,
            "s_city": texts("city ", stores // 2),
            "s_state": texts("S", stores // 12),
            "s_size": rng.integers(1, 100, len(stores)),
        },
        "customer": {
            "c_id": customers,
            "c_name": texts("name ", customers),
            "c_street": texts("street ", customers // 3),
            "c_city": texts("city ", customers % 700),
            "c_region": texts("R", customers % 7),
        },
        "promo": {"p_id": promos, "p_kind": texts("K", promos % 8)},
        "sales": {
            "sale_id": np.arange(rows),
            "day_id": rng.integers(0, len(days), rows),
            "item_id": rng.integers(0, len(items), rows),
            "store_id": rng.integers(0, len(stores), rows),
            "customer_id": rng.integers(0, len(customers), rows),
            # Most sales have no promotion.
            "promo_id": pa.array(rng.integers(0, len(promos), rows), mask=rng.random(rows) < 0.6),
            "sold_at": np.datetime64("2020-01-01T00:00:00", "us")
            + rng.integers(0, len(days) * 86_400, rows) * np.timedelta64(1_000_000, "us"),
            "quantity": rng.integers(1, 100, rows),
            "price": money(rng, rows),
        },
    }
    returned = rng.choice(rows, rows // 10, replace=False)
    tables["returns"] = {
        "r_sale": returned,
        "r_day": rng.integers(0, len(days), len(returned)),
        "r_store": rng.integers(0, len(stores), len(returned)),
        "amount": money(rng, len(returned)),
    }
    return {name: narrowed(pa.table(columns)) for name, columns in tables.items()}


def narrowed(table: pa.Table) -> pa.Table:
    """Return a table whose integers are INTEGER."""
    fields = [
        pa.field(field.name, pa.int32() if pa.types.is_integer(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def open_raydb(tables: dict[str, pa.Table], threads: int) -> Any:
    pa.set_cpu_count(threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    connection = raydb.connect()
    load_raydb(connection, tables)
    return connection


def load_raydb(connection: Any, tables: dict[str, pa.Table]) -> None:
    """Create the tables in RayDB, with their keys."""
    for name, rows in tables.items():
        connection.execute("CREATE TABLE held AS SELECT * FROM rows LIMIT 0")
        columns = connection.execute("DESCRIBE held").fetchall()
        connection.execute("DROP TABLE held")
        listed = ", ".join(f"{column[0]} {column[1]}" for column in columns)
        connection.execute(f"CREATE TABLE {name} ({listed}, {KEYS[name]})")
        connection.execute(f"INSERT INTO {name} SELECT * FROM rows")
        assert rows.num_rows


def open_duckdb(tables: dict[str, pa.Table], threads: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": threads})
    load_duckdb(connection, tables)
    return connection


def load_duckdb(connection: duckdb.DuckDBPyConnection, tables: dict[str, pa.Table]) -> None:
    for name, rows in tables.items():
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
        assert rows.num_rows


# Answers


def difference(ours: list[Any], theirs: list[Any]) -> str:
    """Say how two answers differ, or return ''; the order of rows is that of their texts."""
    if len(ours) != len(theirs):
        return f"{len(ours)} rows for {len(theirs)}"
    one, other = sorted(map(comparable, ours), key=key), sorted(map(comparable, theirs), key=key)
    for left, right in zip(one, other, strict=True):
        if not all(map(same_value, left, right)):
            return f"{left} for {right}"
    return ""


def comparable(row: Any) -> tuple[Any, ...]:
    """Return a row with midnights as dates: date_trunc gives either."""
    return tuple(map(without_midnight, row))


def without_midnight(value: Any) -> Any:
    is_midnight = isinstance(value, dt.datetime) and value.time() == dt.time()
    return value.date() if is_midnight else value


def key(row: tuple[Any, ...]) -> str:
    """Return what rows are ordered by: what is no double, whose last digits may differ."""
    return repr([value for value in row if not isinstance(value, float)])


def same_value(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    return bool(left == right)


# Times


def forms(groups: set[str] | None) -> list[tuple[str, str]]:
    """Return (group, query) of each form."""
    found = []
    group = ""
    for line in FORMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("-- "):
            group = line[3:]
        elif groups is None or group in groups:
            found.append((group, line.rstrip(";")))
    return found


def measure(group: str, sql: str, ours: Any, theirs: Any, runs: int) -> Measurement:
    """Check a form's answer, then time it in both engines, in turns."""
    problem, path = "", ""
    try:
        problem = difference(ours.execute(sql).fetchall(), theirs.execute(sql).fetchall())
        path = re.findall(r"path: (\w+)", ours.execute(f"EXPLAIN {sql}").fetchone()[0])[0]
    except raydb.Error as error:
        problem = f"{type(error).__name__}: {error}"
    engines = {"duckdb": theirs.execute} | ({} if problem else {"raydb": ours.execute})
    times = medians(sql, engines, runs, REPEAT_SECONDS)
    return Measurement(group, sql, path, times["duckdb"], times.get("raydb"), problem)


def report(title: str, measured: list[Measurement]) -> None:
    print(f"\n{title}\n{'RayDB ms':>9} {'DuckDB ms':>9} {'ratio':>6} path    form")
    for each in measured:
        if each.ratio is None:
            print(f"{'':>9} {each.duckdb_ms:9.1f} {'':>6} {each.problem[:60]}: {each.sql[:70]}")
            continue
        figures = f"{each.raydb_ms:9.1f} {each.duckdb_ms:9.1f} {each.ratio:6.2f}"
        print(f"{figures} {each.path:7} {each.group}: {each.sql[:90]}")
    ratios = [each.ratio for each in measured if each.ratio is not None]
    slower = sum(ratio > 1 for ratio in ratios)
    fused = sum(each.path == "fused" for each in measured)
    print(
        f"geometric mean {statistics.geometric_mean(ratios):.2f}, worst {max(ratios):.1f},"
        f" {slower} slower, {fused} of {len(measured)} fused,"
        f" {len(measured) - len(ratios)} without an answer"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--groups", help="of forms.sql, with commas")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tables = star(options.rows)
    ours, theirs = (opened(tables, options.threads) for opened in (open_raydb, open_duckdb))
    chosen = forms(set(options.groups.split(",")) if options.groups else None)
    results = {}
    for title, statements in (("without BVHs", ()), ("with BVHs", BVHS)):
        for statement in statements:
            ours.execute(statement)
        measured = [measure(*form, ours, theirs, options.runs) for form in chosen]
        report(title, measured)
        results[title] = [{**asdict(each), "ratio": each.ratio} for each in measured]
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
