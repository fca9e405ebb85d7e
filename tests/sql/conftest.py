"""Fixtures: catalogs made of CREATE TABLE statements, and a binder that checks what it gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import raydb.engine.table_functions.registered  # noqa: F401  (those that FROM knows)
from raydb import sql
from raydb.planner.catalog import CatalogInfo, TableInfo
from raydb.planner.plan.verify import verify_plan
from raydb.sql import ast

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.plan.nodes import Plan

TABLES = """
CREATE TABLE t (
  a INTEGER, b BIGINT, c VARCHAR, d DATE, e DECIMAL(10, 2), f DOUBLE, g BOOLEAN, h TINYINT,
  ts TIMESTAMP, r REAL, tm TIME, bl BLOB);
CREATE TABLE u (a INTEGER, x INTEGER, y VARCHAR);
CREATE TABLE w (z INTEGER, "Odd Name" INTEGER);
"""
VIEWS = {
    "sums": "SELECT a, sum(b) AS s FROM t GROUP BY a",
    "loop": "SELECT * FROM pool",
    "pool": "SELECT * FROM loop",
    "broken": "SELECT nothing FROM t",
}
STAR = """
CREATE TABLE nation (n_key INTEGER PRIMARY KEY, n_name VARCHAR, n_size DECIMAL(5, 1));
CREATE TABLE customer (
  c_key INTEGER PRIMARY KEY, c_name VARCHAR, c_nation INTEGER REFERENCES nation (n_key));
CREATE TABLE supplier (
  s_key INTEGER PRIMARY KEY, s_name VARCHAR, s_nation INTEGER REFERENCES nation (n_key),
  s_parent INTEGER REFERENCES supplier (s_key));
CREATE TABLE day (d_key INTEGER PRIMARY KEY, d_year INTEGER, d_date DATE);
CREATE TABLE fact (
  ck INTEGER REFERENCES customer (c_key), sk INTEGER REFERENCES supplier (s_key),
  day INTEGER REFERENCES day (d_key), shipped INTEGER REFERENCES day (d_key),
  price INTEGER, disc DECIMAL(4, 2), name VARCHAR);
"""


def catalog_of(text: str, views: dict[str, str] | None = None) -> CatalogInfo:
    tables = {}
    for statement in sql.parse(text):
        assert isinstance(statement, ast.CreateTable)
        definition = statement.definition
        sample = {field.name: pa.array([], field.type) for field in definition.schema}
        tables[definition.name] = TableInfo(
            definition,
            10,
            dict.fromkeys(definition.schema.names, 0),
            sample,
            dict.fromkeys(definition.schema.names, 1.0),
        )
    return CatalogInfo(tables, views or {})


@pytest.fixture(scope="session")
def catalog() -> CatalogInfo:
    return catalog_of(TABLES, VIEWS)


@pytest.fixture(scope="session")
def star_catalog() -> CatalogInfo:
    return catalog_of(STAR)


@pytest.fixture(scope="session")
def ssb_catalog() -> CatalogInfo:
    return catalog_of((Path(__file__).parent / "data" / "ssb_schema.sql").read_text())


@pytest.fixture(scope="session")
def make_catalog() -> Callable[[str], CatalogInfo]:
    """Return what makes a catalog of CREATE TABLE statements."""
    return catalog_of


@pytest.fixture
def bind(catalog: CatalogInfo) -> Callable[..., Plan]:
    """Bind a query or a statement that writes, and check that the plan is whole."""

    def bind(text: str, parameters: Any = (), within: CatalogInfo = catalog) -> Plan:
        (statement,) = sql.parse(text)
        match statement:
            case ast.Insert():
                plan = sql.bind_insert(statement, within, parameters)
            case ast.Update():
                plan = sql.bind_update(statement, within, parameters)
            case ast.Delete():
                plan = sql.bind_delete(statement, within, parameters)
            case _:
                assert isinstance(statement, ast.Select)
                plan = sql.bind_select(statement, within, parameters)
        verify_plan(plan, within, "the binder")
        return plan

    return bind
