"""What dbt asks of an adapter in Python; the rest are macros, in dbt.include.raydb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.base import available
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.raydb.column import RayDBColumn
from dbt.adapters.raydb.connections import RayDBConnectionManager
from dbt.adapters.raydb.handle import Rows
from dbt.adapters.raydb.relation import RayDBRelation
from dbt.adapters.sql import SQLAdapter
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, TableMetadata

if TYPE_CHECKING:
    from dbt.adapters.base import BaseRelation


class RayDBAdapter(SQLAdapter):
    """The adapter of RayDB."""

    ConnectionManager = RayDBConnectionManager
    Relation = RayDBRelation
    Column = RayDBColumn

    CONSTRAINT_SUPPORT = dict.fromkeys(
        (
            ConstraintType.check,
            ConstraintType.not_null,
            ConstraintType.unique,
            ConstraintType.primary_key,
            ConstraintType.foreign_key,
        ),
        ConstraintSupport.ENFORCED,
    )
    _capabilities = CapabilityDict(
        {
            Capability.SchemaMetadataByRelations: CapabilitySupport(support=Support.Full),
            Capability.GetCatalogForSingleRelation: CapabilitySupport(support=Support.Full),
        }
    )

    @classmethod
    def date_function(cls) -> str:
        """Return the function that tells the time."""
        return "now()"

    @classmethod
    def convert_text_type(cls, agate_table: Any, col_idx: int) -> str:
        """Return the type of a column of texts in a seed."""
        return "varchar"

    @classmethod
    def convert_number_type(cls, agate_table: Any, col_idx: int) -> str:
        """Return the type of a column of numbers in a seed."""
        import agate

        if agate_table.aggregate(agate.MaxPrecision(col_idx)):
            return "double"
        return cls.convert_integer_type(agate_table, col_idx)

    @classmethod
    def convert_integer_type(cls, agate_table: Any, col_idx: int) -> str:
        """Return the type of a column of whole numbers in a seed."""
        values = [each for each in agate_table.columns[col_idx].values() if each is not None]
        return "bigint" if any(not -(2**31) <= each < 2**31 for each in values) else "integer"

    @classmethod
    def convert_datetime_type(cls, agate_table: Any, col_idx: int) -> str:
        """Return the type of a column of timestamps in a seed."""
        return "timestamp"

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """Return what the catalog tells about a table or view; None if it does not exist."""
        rows = self.execute_macro("get_catalog_for_single_relation", kwargs={"relation": relation})
        columns = {
            row["column_name"]: ColumnMetadata(
                type=row["column_type"], index=row["column_index"], name=row["column_name"]
            )
            for row in rows
        }
        if not columns:
            return None
        first = rows[0]
        about = TableMetadata(
            type=first["table_type"],
            database=first["table_database"],
            schema=first["table_schema"],
            name=first["table_name"],
        )
        return CatalogTable(metadata=about, columns=columns, stats={})

    def valid_incremental_strategies(self) -> list[str]:
        """Return the strategies of incremental models."""
        return ["append", "delete+insert", "merge", "microbatch"]

    @available.parse(lambda *_: [])
    def rows_of(self, agate_table: Any) -> Rows:
        """Return the rows of a seed, which one INSERT takes as its parameters."""
        return Rows(map(tuple, agate_table.rows))

    @available.parse(lambda *_: True)
    def keeps_columns(self, relation: BaseRelation, sql: str) -> bool:
        """Whether a query has all columns of a table or view, with their types, so views go on."""
        new = {each.name: each.dtype for each in self.get_column_schema_from_query(sql)}
        old = self.get_columns_in_relation(relation)
        return all(new.get(each.name) == each.data_type for each in old)
