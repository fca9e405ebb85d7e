"""What an `OpenedFunction` of the engine makes its rows of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.session.file_access import FileAccess
    from raydb.engine.session.statement_sources import Uses


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """The database as a statement sees it, the files that it may read, and what was used."""

    snapshot: Snapshot
    files: FileAccess
    uses: Uses
