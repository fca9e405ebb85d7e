"""66 forms of queries over a star of sales beside DuckDB, with BVHs and without.

    python tests/bench/bench_forms.py [--rows 5000000] [--groups filter,keys] [--runs 5]
        [--advised 6] [--json results.json]

`forms.sql` has the forms: what people and BI tools write about a star. The data are made with a
seed. beside_duckdb.py says what is measured, and how.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import beside_duckdb
import numpy as np
import pyarrow as pa

FORMS = Path(__file__).parent / "forms.sql"
SEED = 19

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


def load_duckdb(connection: Any, tables: dict[str, pa.Table]) -> None:
    for name, rows in tables.items():
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
        assert rows.num_rows


# Queries


def forms(groups: str | None) -> dict[str, str]:
    """Return the forms, by their group and text; groups: which, with commas between them."""
    found = {}
    group = ""
    for line in FORMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("-- "):
            group = line[3:]
        elif groups is None or group in groups.split(","):
            found[f"{group}: {line}"] = line
    return found


def workload(options: argparse.Namespace) -> beside_duckdb.Workload:
    tables = star(options.rows)
    return beside_duckdb.Workload(
        forms(options.groups),
        BVHS,
        lambda connection: load_raydb(connection, tables),
        lambda connection: load_duckdb(connection, tables),
        beside_duckdb.difference,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--groups", help="of forms.sql, with commas")
    beside_duckdb.run(parser, workload)
