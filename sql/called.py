"""`raydb.sql("SELECT 1")`: the package can be called, however it is imported first."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class _CallablePackage(ModuleType):
    def __call__(self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> Any:
        """Run a text on the connection of the process, as `Connection.sql` does on one."""
        # By its name, for no layer imports what is above it.
        return import_module("raydb").default_connection().sql(sql, parameters)

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        return import_module, (self.__name__,)


def make_callable(name: str) -> None:
    """Let the package of that name be called."""
    sys.modules[name].__class__ = _CallablePackage
