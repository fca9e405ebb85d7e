"""A plugin of pytest that runs the tests of Ibis on the backend `raydb`.

cd IBIS && PYTHONPATH=.:TESTS pytest -p ibis_backend -m duckdb -o addopts= ibis/backends/tests

IBIS: a checkout of the release that is installed, with its test data in ci/ibis-testing-data.
TESTS: this folder. Ibis finds the settings of a backend's tests in its own package; these are put
there while the tests run.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import ibis
import sqlglot as sg
from ibis.backends.conftest import TEST_TABLES
from ibis.backends.tests.base import BackendTest

import raydb.ibis

if TYPE_CHECKING:
    from collections.abc import Iterator


class TestConf(BackendTest):
    """What the tests expect of the backend, and how its tables are made."""

    supports_map = True
    supports_tpch = True
    supports_tpcds = True
    stateful = False
    driver_supports_multiple_statements = True
    deps = ("raydb",)

    @classmethod
    def name(cls) -> str:
        return "duckdb"

    @property
    def ddl_script(self) -> Iterator[str]:
        for table in TEST_TABLES:
            file = self.data_dir / "parquet" / f"{table}.parquet"
            yield f"CREATE TABLE {table} AS SELECT * FROM '{file}'"
        yield (self.script_dir / "duckdb.sql").read_text()

    @staticmethod
    def connect(*, tmpdir: Any, worker_id: str, **kw: Any) -> raydb.ibis.Backend:
        return ibis.duckdb.connect(**kw)

    def _load_tpc(self, *, suite: str, scale_factor: str) -> None:
        schema = f"tpc{suite}"
        self.connection.create_database(schema, force=True)
        for path in (self.data_dir / schema / f"sf={scale_factor}" / "parquet").glob("*.parquet"):
            rows = f"read_parquet('{path}', hive_partitioning = false)"
            self.connection.con.execute(f"CREATE TABLE {schema}.{path.stem} AS FROM {rows}")

    def _transform_tpc_sql(self, parsed: Any, *, suite: str, leaves: Any) -> Any:
        def qualified(node: Any) -> Any:
            if isinstance(node, sg.exp.Table) and node.name in leaves:
                node = node.copy()
                node.set("db", sg.to_identifier(f"tpc{suite}"))
            return node

        return parsed.transform(qualified)


class Backend(raydb.ibis.Backend):
    """The backend by DuckDB's name: what the tests expect they look up by the name of a backend."""

    name = "duckdb"


def _module(name: str, **members: Any) -> None:
    module = ModuleType(name)
    module.__path__ = []
    vars(module).update(members)
    sys.modules[name] = module


_module("ibis.backends.duckdb", Backend=Backend)
_module("ibis.backends.duckdb.tests")
_module("ibis.backends.duckdb.tests.conftest", TestConf=TestConf)
