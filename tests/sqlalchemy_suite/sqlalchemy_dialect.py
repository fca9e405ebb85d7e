"""SQLAlchemy's plugin of pytest, for the tests that it has for dialects."""

from __future__ import annotations

from typing import Any

from sqlalchemy.dialects import registry
from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: F403
from sqlalchemy.testing.provision import post_configure_engine, temp_table_keyword_args

# The tests name the driver too.
registry.register("raydb.raydb", "raydb.sqlalchemy", "RayDialect")


@temp_table_keyword_args.for_db("raydb")
def _temporary(cfg: Any, eng: Any) -> dict[str, Any]:
    return {"prefixes": ["TEMPORARY"]}


@post_configure_engine.for_db("raydb")
def _make_schema(url: Any, engine: Any, follower_ident: str | None) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS test_schema")
