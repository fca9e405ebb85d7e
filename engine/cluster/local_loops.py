"""The process that compiles the loops of the cluster 'local' where these are not kept yet.

It ends when all are kept, which is later than the connection where a program is short.
"""

from __future__ import annotations

from raydb.engine.shell.process import run_alone
from raydb.kernels.backends.cpu import warm


def _run() -> int:
    warm.wait()
    return 0


if __name__ == "__main__":
    run_alone(_run)
