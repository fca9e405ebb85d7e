"""What helps who types: completion from the catalog, and the history that the shell has too."""

from __future__ import annotations

import threading
from itertools import islice
from typing import TYPE_CHECKING, Any

from raydb.engine.shell.completion import complete_sql, read_vocabulary
from raydb.engine.shell.history import open_history
from raydb.keywords import Scanner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_toolkit.completion import Completion

    from raydb.engine.api.connection import Connection

# Texts that the page lists, the newest first, and completions that it shows.
MAX_TEXTS = 500
MAX_COMPLETIONS = 200


class Typing:
    """The history of a server, and completions for all its pages."""

    def __init__(self) -> None:
        self._history, _ = open_history()
        self._newest = ""
        self._lock = threading.Lock()

    def remember(self, text: str) -> None:
        """Add a text to the history, unless it is the one that was added last."""
        text = text.strip()
        with self._lock:
            if text and text != self._newest:
                self._history.store_string(text)
                self._newest = text

    def history(self) -> list[str]:
        """Return the texts that were run before, the newest first and each once."""
        with self._lock:
            texts = dict.fromkeys(islice(self._history.load_history_strings(), MAX_TEXTS))
        return list(texts)

    def complete(self, connection: Connection, text: str, before: str) -> list[dict[str, Any]]:
        """Return what may stand behind `before`, and how much of it each replaces."""
        scanner = Scanner()
        pieces = list(scanner.scan(before))
        if (pieces and pieces[-1][0] == "comment") or scanner.opener not in {"", '"'}:
            return []
        found = complete_sql(text, before, read_vocabulary(connection))
        return [
            {"text": each.text, "replaces": -each.start_position, "meaning": each.display_meta_text}
            for each in islice(_once(found), MAX_COMPLETIONS)
        ]


def _once(found: Iterator[Completion]) -> Iterator[Completion]:
    seen = set()
    for each in found:
        if each.text not in seen:
            seen.add(each.text)
            yield each
