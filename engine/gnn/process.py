"""The program of a worker that is a process: questions come by its input, answers go by its output.

    python -P -m raydb.engine.gnn.process

What the model prints goes to the standard error, where it cannot be taken for an answer.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from contextlib import suppress

from raydb.engine.gnn.crews import read_message, write_message


def main() -> None:
    """Answer until the input ends."""
    with os.fdopen(os.dup(1), "wb") as out, os.fdopen(os.dup(0), "rb") as questions:
        os.dup2(2, 1)
        with suppress(EOFError, OSError):  # The program has ended, or does not want it any more.
            sys.path[:] = json.loads(read_message(questions))
            with warnings.catch_warnings():  # The program has heard them already.
                warnings.simplefilter("ignore")
                from raydb.engine.gnn.worker import Worker  # noqa: PLC0415  (by its path)

            worker = Worker(may_unpickle=True)
            while True:
                write_message(out, worker.answer(read_message(questions)))
    os._exit(0)


if __name__ == "__main__":
    main()
