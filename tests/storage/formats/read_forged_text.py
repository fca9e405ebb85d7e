"""Reads a hostile file of text or Parquet in each way that SQL has for its format.

read_forged_text(seed, folder)      a case for tests/reliability/sandbox.py
"""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
from forged_text import forge

import raydb

LIMIT_MB = 200
# The whole process, whose libraries take 300 MB.
MOST_MB = LIMIT_MB + 500
# So long after it was opened, a file's statements are interrupted, as Ctrl-C would.
_PATIENCE_S = 4

_QUERIES = [
    "SELECT count(*) FROM '{}'",
    "SELECT * FROM '{}' LIMIT 5",
    "SELECT * FROM '{}'",
    "CREATE TABLE made AS SELECT * FROM '{}'",
    "COPY one FROM '{}'",
    "COPY two FROM '{}'",
]
_CSV_QUERIES = [
    "SELECT * FROM read_csv('{}', all_varchar => true, header => false)",
    "SELECT * FROM read_csv('{}', sample_size => -1, union_by_name => true)",
    "SELECT * FROM read_csv('{}', delimiter => ';', escape => '\\', null => 'x', skip => 1)",
    "SELECT * FROM read_csv('{}', date_format => '%d %m %Y', timestamp_format => '%s')",
]
_JSON_QUERIES = [
    "SELECT * FROM read_json('{}', sample_size => -1)",
    "SELECT * FROM read_json('{}', columns => {{'a': 'DECIMAL(38,2)', 'b': 'DATE'}})",
    "SELECT * FROM read_json('{}', columns => {{'a': 'FLOAT[2]', 'b': 'INTEGER[]'}})",
]


def read_forged_text(seed: int, folder: Path) -> None:
    """Read one file in every way; the last error of PEP 249 is raised again."""
    kind, content = forge(seed)
    path = folder / f"forged{kind}"
    path.write_bytes(content)
    del content
    _forget_forging()
    refused = None
    queries = _QUERIES + (_CSV_QUERIES if ".csv" in kind else [])
    queries += _JSON_QUERIES if ".json" in kind else []
    with raydb.connect() as con:
        con.execute(f"SET memory_limit = '{LIMIT_MB}MB'")
        con.execute("CREATE TABLE one (a VARCHAR); CREATE TABLE two (a BIGINT, b DATE, c REAL)")
        patience = threading.Timer(_PATIENCE_S, con.interrupt)
        patience.start()
        try:
            for query in queries:
                refused = _error_of(con, query.format(path)) or refused
                if not patience.is_alive():
                    break
        finally:
            patience.cancel()
    if refused is not None:
        raise refused


def _forget_forging() -> None:
    """Let the peak of memory begin here: a file that stands for 500 MB was made of as much."""
    pa.default_memory_pool().release_unused()
    peak = Path("/proc/self/clear_refs")
    if peak.exists():
        peak.write_text("5", encoding="ascii")


def _error_of(con: raydb.Connection, query: str) -> raydb.Error | None:
    """Return the error that a statement ends with, without what its frames hold."""
    try:
        cursor = con.execute(query)
        if query.startswith("SELECT"):
            cursor.fetchmany(50)
    except raydb.Error as error:
        return error.with_traceback(None)
    return None
