"""What a text of SQL consists of: the words that are no names; where strings and comments are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYWORDS = frozenset(
    (  # noqa: SIM905  (quotes around each word would hide them)
        "ADD AGGREGATE ALL ALTER ANALYZE AND ANTI ANY AS ASC BEGIN BETWEEN BIGINT BLOB BOOLEAN "
        "BTREE BVH BY CALIBRATE CASCADE CASE CAST CHAR CHECK CHECKPOINT COLUMN COMMIT CONFLICT "
        "CONSTRAINT COPY CREATE CROSS CUBE CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP "
        "DATE DEALLOCATE DECIMAL DEFAULT DELETE DESC DESCRIBE DISTINCT DO DOUBLE DROP ELSE END "
        "ESCAPE EXCEPT EXCLUDE EXECUTE EXISTS EXPLAIN EXTRACT FALSE FILTER FIRST FLOAT FOLLOWING "
        "FOREIGN FORMAT FROM FULL GROUP GROUPING HAVING HUGEINT IF ILIKE IN INDEX INNER INSERT "
        "INTEGER INTERSECT INTERVAL INTO IS JOIN KEY LAST LATERAL LEFT LIKE LIMIT MATERIALIZED "
        "NATURAL NO NOT NOTHING NULL NULLS NUMERIC OFFSET ON OR ORDER ORDINALITY OUTER OVER "
        "PARTITION PRECEDING PRECISION PREPARE PRIMARY QUALIFY RANGE REAL RECURSIVE REFERENCES "
        "REINDEX RELEASE RENAME REPLACE RESET RESTRICT RETURNING RIGHT ROLLBACK ROLLUP ROW ROWS "
        "SAVEPOINT SCAN SELECT SEMI SET SETS SHOW SIMILAR SMALLINT SOME SUMMARIZE TABLE TABLES "
        "TEXT THEN TIME TIMESTAMP TINYINT TO TRANSACTION TRUE TRUNCATE TYPE UNBOUNDED UNION "
        "UNIQUE UPDATE USING VACUUM VALUES VARCHAR VIEW WHEN WHERE WINDOW WITH WITHIN WORK "
    ).split()
)

_BARE = re.compile(r"[a-z_][a-z0-9_]*", re.IGNORECASE | re.ASCII)

# What begins a piece that may hold a ';'. A dollar quote has no name before it, as in a$$b.
_OPENER = re.compile(r"--|/\*|(?<!\w)[eE]'|'|\"|;|(?<![\w$])\$(?:[^\W\d]\w*)?\$")
_REST = {
    "'": re.compile(r"(?:[^']|'')*+'"),
    "e'": re.compile(r"(?:[^'\\]|\\.|'')*+'", re.DOTALL),
    '"': re.compile(r'(?:[^"]|"")*+"'),
}
_LINE_END = re.compile(r"[\r\n]")
_COMMENT_EDGE = re.compile(r"/\*|\*/")


def quoted(name: str) -> str:
    """Return a name as SQL has to write it.

    >>> quoted("City"), quoted("Odd name"), quoted("order")
    ('City', '"Odd name"', '"order"')
    """
    if _BARE.fullmatch(name) and name.upper() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


class Scanner:
    """Splits text into strings, quoted names, comments, ';' and the code between them.

    opener: what begins the piece that the text so far leaves open ("'", "e'", '"', "/*" or a
    dollar quote), empty between pieces. Comments may be nested, as in PostgreSQL.
    """

    def __init__(self) -> None:
        self.opener = ""
        self._depth = 0

    def scan(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the pieces of more text with their kinds: string, name, comment, end or code."""
        place = 0
        while place < len(text):
            if not self.opener:
                found = _OPENER.search(text, place)
                start = len(text) if found is None else found.start()
                if start > place:
                    yield "code", text[place:start]
                if found is None:
                    return
                if found[0] == ";":
                    yield "end", ";"
                    place = found.end()
                    continue
                self.opener = "e'" if found[0] == "E'" else found[0]
                place = start
                end = self._end(text, found.end())
            else:
                end = self._end(text, place)
            kind = {'"': "name", "--": "comment", "/*": "comment"}.get(self.opener, "string")
            if end is None:
                yield kind, text[place:]
                return
            yield kind, text[place:end]
            self.opener, place = "", end

    def _end(self, text: str, place: int) -> int | None:
        """Return where the open piece ends in a text, None if it goes on after it."""
        if self.opener == "--":
            ended = _LINE_END.search(text, place)
            return len(text) if ended is None else ended.start()
        if self.opener == "/*":
            return self._comment_end(text, place)
        if self.opener.startswith("$"):
            closed = text.find(self.opener, place)
            return None if closed < 0 else closed + len(self.opener)
        ended = _REST[self.opener].match(text, place)
        return None if ended is None else ended.end()

    def _comment_end(self, text: str, place: int) -> int | None:
        self._depth = self._depth or 1
        for edge in _COMMENT_EDGE.finditer(text, place):
            self._depth += 1 if edge[0] == "/*" else -1
            if self._depth == 0:
                return edge.end()
        return None
