"""Which statements hold credentials: no file keeps them, and no error shows their lines again."""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"\bcreate\b(\s|--.*\n)+(or\s+replace\s+)?(persistent\s+|temp(orary)?\s+)?secret\b"
    r"|\bs3_(access_key_id|secret_access_key|session_token)\b",
    re.IGNORECASE,
)


def holds_secret(text: str) -> bool:
    """Tell whether a text may hold credentials.

    >>> holds_secret("create or replace secret s (TYPE s3, ...)"), holds_secret("FROM secrets()")
    (True, False)
    """
    return _SECRET.search(text) is not None
