"""`.import`: the statement that reads a file into a table."""

from __future__ import annotations

from typing import Any

from raydb.engine.shell.keywords import quoted
from raydb.engine.shell.schema import relation_names


def import_statement(
    connection: Any, file: str, table: str, file_format: str | None, skipped_lines: int
) -> str:
    """Return COPY for a table that exists, else CREATE TABLE AS.

    A table is known by its name as it is written, else in lower case. file_format: None where the
    extension tells it.

    >>> import_statement(connection, "pets.txt", "pet", "csv", 1)
    "CREATE TABLE pet AS SELECT * FROM read_csv('pets.txt', skip => 1)"
    """
    known = relation_names(connection)
    name = quoted(table if table in known else table.lower())
    path = "'" + file.replace("'", "''") + "'"
    if table in known or table.lower() in known:
        options = [] if file_format is None else [f"FORMAT {file_format}"]
        options += [f"SKIP {skipped_lines}"] if skipped_lines else []
        listed = f" ({', '.join(options)})" if options else ""
        return f"COPY {name} FROM {path}{listed}"
    if file_format is None and not skipped_lines:
        return f"CREATE TABLE {name} AS SELECT * FROM {path}"  # noqa: S608  (a literal)
    skip = f", skip => {skipped_lines}" if skipped_lines else ""
    return f"CREATE TABLE {name} AS SELECT * FROM read_csv({path}{skip})"  # noqa: S608  (as above)
