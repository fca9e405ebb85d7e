"""The name of a table or view as dbt handles it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.base import BaseRelation

if TYPE_CHECKING:
    from dbt.adapters.contracts.relation import ComponentName


@dataclass(frozen=True, eq=False, repr=False)
class RayDBRelation(BaseRelation):
    """A table or view. The case of names does not count, in quotes neither.

    require_alias: whether a query in FROM needs a name.
    """

    require_alias: bool = False

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        return bool(self.path.get_lowered_part(field) == value.lower())
