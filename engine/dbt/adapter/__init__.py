"""The adapter of dbt: `type: raydb` in a profile. dbt imports this package by its name."""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.raydb.connections import RayDBConnectionManager, RayDBCredentials
from dbt.adapters.raydb.impl import RayDBAdapter
from dbt.include import raydb

__all__ = ["Plugin", "RayDBAdapter", "RayDBConnectionManager", "RayDBCredentials"]

Plugin = AdapterPlugin(
    adapter=RayDBAdapter, credentials=RayDBCredentials, include_path=raydb.PACKAGE_PATH
)
