"""The process that compiles the loops of the cluster 'local' where these are not kept yet.

It ends when all are kept, which is later than the connection where a program is short. Where none
can be kept it has nothing to do.
"""

from __future__ import annotations

from raydb.engine.shell.process import run_alone
from raydb.kernels import code_cache
from raydb.kernels.backends.cpu import warm


def _run() -> int:
    from raydb.kernels.jit import toolchain  # noqa: PLC0415  (numba takes 0.24 s)

    if code_cache.examine(toolchain())[-1].obstacle:
        return 0
    warm.wait()
    return 0


if __name__ == "__main__":
    run_alone(_run)
