"""Generated columns of a definition: no key has them, and no statement gives them values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import NotSupportedError, ProgrammingError

if TYPE_CHECKING:
    from raydb.storage.tables.table import TableDefinition


def check_given(definition: TableDefinition, column: str) -> None:
    """Raise ProgrammingError for a column that no statement gives a value to."""
    if any(each.column == column for each in definition.generated):
        raise ProgrammingError(
            f"column '{column}' of table '{definition.name}' is generated: it takes no value"
        )


def check_generated(definition: TableDefinition) -> None:
    """Raise for generated columns that depend on each other, and for keys of them."""
    name = definition.name
    if not len(definition.given_schema):
        raise ProgrammingError(f"table '{name}' has no column that is not generated")
    for each in definition.generated:
        for column in (each.column, *each.columns):
            if column not in definition.schema.names:
                raise ProgrammingError(f"column '{column}' does not exist in '{name}'")
    definition.in_order()
    primary_key = definition.primary_key
    keys = [] if primary_key is None else [("the primary key", primary_key.columns)]
    keys += [("a foreign key", key.columns) for key in definition.foreign_keys]
    for kind, columns in keys:
        for each in definition.generated:
            if each.column in columns:
                raise NotSupportedError(
                    f"column '{each.column}' of table '{name}' is generated, so it cannot be part"
                    f" of {kind}"
                )
