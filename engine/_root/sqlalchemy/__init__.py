"""The SQLAlchemy dialect: `create_engine("raydb:///shop.raydb")`.

    raydb:///shop.raydb                     a path relative to the working directory
    raydb:////data/shop.raydb               an absolute one
    raydb://                                a database in memory
    raydb:///shop.raydb?read_only=true      the options of raydb.connect

An engine may have a pool of any size: its connections share the database, each with a transaction
of its own. A database in memory is that of one engine and lives as long.
"""

from __future__ import annotations

from typing import Any

from raydb.sqlalchemy.dialect import RayDialect

__all__ = ["RayDialect", "setup"]


def setup(_: Any) -> None:
    """Make RayDB known to Alembic, whose plugin this package is (1.18 and later)."""
    from raydb.sqlalchemy import migrations  # noqa: F401 - its class is known once it is loaded
