"""RayDB for Alembic: what its plugin imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alembic.ddl.impl import DefaultImpl
from alembic.ddl.mysql import MySQLImpl
from sqlalchemy import DefaultClause, Identity, cast, literal, literal_column, select

if TYPE_CHECKING:
    from sqlalchemy import Column


class RayImpl(DefaultImpl):
    """What Alembic asks of a database when it migrates and compares."""

    __dialect__ = "raydb"
    transactional_ddl = True

    # RESTRICT, which a model may say, is what a foreign key without actions does, as in MySQL.
    correct_for_autogen_foreignkeys = MySQLImpl.correct_for_autogen_foreignkeys

    def compare_server_default(
        self,
        inspector_column: Column[Any],
        metadata_column: Column[Any],
        rendered_metadata_default: str | None,
        rendered_inspector_default: str | None,
    ) -> bool:
        """Tell whether two defaults differ, by their values."""
        own = metadata_column.server_default
        if rendered_inspector_default is None or not isinstance(own, DefaultClause):
            return (own is None) != (rendered_inspector_default is None)
        assert self.connection is not None
        given = literal(own.arg) if isinstance(own.arg, str) else own.arg
        there: Any = literal_column(rendered_inspector_default)
        kind = inspector_column.type
        query = select(cast(given, kind).is_distinct_from(cast(there, kind)))
        return bool(self.connection.scalar(query))

    def _compare_identity_default(self, metadata_identity: Any, inspector_identity: Any) -> Any:
        # A primary key that makes its own values is an identity, whether it says so or not.
        if metadata_identity is None and inspector_identity.column.primary_key:
            metadata_identity = Identity()
        return super()._compare_identity_default(  # type: ignore[no-untyped-call]
            metadata_identity, inspector_identity
        )
