"""Several statements as one transaction."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.engine.api.connection import Connection


@contextmanager
def whole(connection: Connection) -> Iterator[None]:
    """Make one transaction of what is done, or a part of the one that was begun."""
    if connection.in_transaction:
        yield
        return
    connection.begin()
    try:
        yield
        connection.commit()
    finally:
        connection.rollback()
