"""`raydb.sql("SELECT 1")`: the layer of that name can be called, as users expect to be able to."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import raydb
from raydb import sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.engine.api.cursor import Cursor


class _CallableModule(ModuleType):
    def __call__(
        self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()
    ) -> Cursor | None:
        """Run a text on the connection of the process; see `Connection.sql`."""
        return raydb.default_connection().sql(sql, parameters)


sql.__class__ = _CallableModule
