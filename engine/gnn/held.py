"""The parts that a worker of a cluster holds for trainings, by their names."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from raydb.engine.gnn.messages import encode

if TYPE_CHECKING:
    from raydb.engine.gnn.worker import Worker

# Who has trained may have been killed, and has then not said that the parts are of no use.
_FORGOTTEN_S = 3600.0


class HeldParts:
    """Answers the questions about all parts; threads may ask at once."""

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}
        self._asked: dict[str, float] = {}
        self._making = threading.Lock()

    def answer(self, name: str, question: bytes) -> bytes:
        """Return the answer about a part, whatever happens; an empty question forgets it."""
        with self._making:
            now = time.monotonic()
            for each, last in list(self._asked.items()):
                if now - last > _FORGOTTEN_S or (each == name and not question):
                    del self._asked[each]
                    self._workers.pop(each, None)
            if not question:
                return b""
            self._asked[name] = now
            if name not in self._workers:
                try:
                    from raydb.engine.gnn.worker import Worker  # noqa: PLC0415  (an extra)
                except ImportError as error:
                    text = f"its worker needs torch: pip install 'raydb[gnn]' ({error})"
                    return encode({"say": "error", "kind": "NotSupportedError", "text": text})
                self._workers[name] = Worker()
            worker = self._workers[name]
        return worker.answer(question)
