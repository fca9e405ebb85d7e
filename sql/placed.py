"""Names of a statement in a schema: those that it makes, and those that there are.

    CREATE TABLE sales.t (x INTEGER)    its database knows the table as `sales.t`

An index is in the schema of its table. BVHs have names that are of the whole database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import Qualified, fold, is_same
from raydb.planner.catalog import MAIN, in_schema, schema_of
from raydb.sql import alter, ast
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from raydb.storage.tables.table import TableDefinition

    Statement = ast.Definition | ast.Write


def placed(
    statement: Statement, made: Callable[[str], str], known: Callable[[str, str], str]
) -> Statement:
    """Return a statement whose names are those that its database has.

    made: returns that of something new. known: of what there is, given its kind. Raises
    NotSupportedError for what is not in schemas.
    """
    match statement:
        case _ if isinstance(statement, ast.Write):
            return replace(statement, table=known("table", statement.table))
        case ast.CreateIndex():
            table = known("table", statement.table)
            name = _beside(table, statement.table, statement.index.name)
            return replace(statement, table=table, index=replace(statement.index, name=name))
        case ast.CreateBvh():
            table = known("table", statement.table)
            if table != statement.table:
                raise NotSupportedError(
                    f"a BVH is on a table of the schema '{MAIN}', not '{table}'"
                )
            return statement
        case ast.CreateTable():
            return replace(statement, definition=_definition(statement.definition, made, known))
        case ast.CreateTableAs() | ast.CreateView() | ast.CreateSequence() | ast.CreateMacro():
            return replace(statement, name=made(statement.name))
        case ast.CreateType():
            if made(statement.name) != statement.name:
                raise NotSupportedError(f"types are in the schema '{MAIN}' alone")
            return statement
        case ast.AlterTable():
            return _altered(statement, known)
        case ast.Drop() | ast.Truncate():
            kind = "table" if isinstance(statement, ast.Truncate) else statement.kind
            return replace(statement, names=tuple(known(kind, name) for name in statement.names))
        case ast.RenameView() | ast.RenameSequence():
            kind = "view" if isinstance(statement, ast.RenameView) else "sequence"
            name = known(kind, statement.name)
            return replace(statement, name=name, to=_beside(name, statement.name, statement.to))
        case ast.Comment() | ast.AlterSequence():
            of = statement.kind if isinstance(statement, ast.Comment) else "sequence"
            return replace(statement, name=known(of, statement.name))
        case ast.Calibrate():
            return replace(statement, index=known("index", statement.index))
        case ast.Reindex(kind=kind, name=str(name)):
            return replace(statement, name=known(kind, name))
        case _:
            return statement


def _beside(name: str, written: str, other: str) -> str:
    """Return a name in the schema of another one, which was written without it."""
    return in_schema(other, name[: -len(written) - 1] or MAIN) if name != written else other


def _definition(
    definition: TableDefinition, made: Callable[[str], str], known: Callable[[str, str], str]
) -> TableDefinition:
    name = made(definition.name)
    keys = []
    for key in definition.foreign_keys:
        table = key.table
        if isinstance(table, Qualified):
            table = in_schema(str(table), MAIN if is_same(table.place[0], MAIN) else table.place[0])
        elif is_same(table, definition.name):
            table = name
        else:
            table = known("table", table)
        keys.append(replace(key, table=table))
    return replace(definition, name=name, foreign_keys=tuple(keys))


def _altered(statement: ast.AlterTable, known: Callable[[str, str], str]) -> ast.AlterTable:
    table = known("table", statement.table)
    changed: list[alter.Alteration] = []
    for each in statement.alterations:
        match each:
            case alter.RenameTable():
                changed.append(replace(each, to=_beside(table, statement.table, each.to)))
            case alter.AddColumn() | alter.AddConstraint():
                definition = _definition(each.definition, lambda _: table, known)
                changed.append(replace(each, definition=definition))
            case _:
                changed.append(each)
    return replace(statement, table=table, alterations=tuple(changed))


def check_bare(name: str, schemas: Iterable[str]) -> None:
    """Raise ProgrammingError for a name of main that reads as one of another schema."""
    inside = schema_of(fold(name), map(fold, schemas))
    if inside != MAIN:
        raise ProgrammingError(
            f"the name '{name}' begins as those of the schema '{inside}' do, so nothing in the"
            f" schema '{MAIN}' has it"
        )
