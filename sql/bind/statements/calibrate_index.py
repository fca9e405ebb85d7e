"""CALIBRATE INDEX ... USING (query): the query to a plan of one column, the query vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.types import is_numbers
from raydb.planner.expressions.typing_rules import cast
from raydb.planner.plan.nodes import Plan, Project
from raydb.sql.bind.binding import new_column
from raydb.sql.bind.query.query import bind_query, statement_binding

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.sql.ast import Select
    from raydb.sql.template.parameters import Parameters


def bind_sample(
    select: Select, index: str, kind: pa.DataType, catalog: CatalogInfo, parameters: Parameters
) -> Plan:
    """Return a query for vectors: one column of FLOAT[n], or of bits, for the index of a name.

    Raises ProgrammingError for a query of anything else, NotSupportedError as `bind_select`.
    """
    with statement_binding(select.tree, catalog, parameters) as binding:
        plan = bind_query(select.tree, binding)
    columns = plan.columns
    what = f"the query of CALIBRATE INDEX '{index}'"
    if len(columns) != 1:
        raise ProgrammingError(f"{what} gives one column of vectors, not {len(columns)} columns")
    (column,) = columns
    if not (is_numbers(column.type) if pa.types.is_fixed_size_list(kind) else column.type == kind):
        raise ProgrammingError(f"{what} gives vectors, not {describe(column)}")
    if pa.types.is_fixed_size_list(column.type) and column.type.list_size != kind.list_size:
        raise ProgrammingError(
            f"{what} gives vectors of {column.type.list_size} numbers, "
            f"the index has {kind.list_size}"
        )
    vector = new_column(binding, column.name, kind)
    return Project(plan, ((vector, cast(column, vector.type)),))
