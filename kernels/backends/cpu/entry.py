"""The CPU backend's place in the table of backends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.kernels.backends.backend import Entry

if TYPE_CHECKING:
    from raydb.kernels.backends.backend import Backend, Search


def _open() -> Backend:
    from raydb.kernels.backends.cpu.cpu_backend import CpuBackend  # noqa: PLC0415  (at first use)

    return CpuBackend()


def _open_search() -> Search:
    from raydb.kernels.vector.ivf import search_ivf  # noqa: PLC0415  (as above)

    return search_ivf


ENTRY = Entry("cpu", "cpu", _open, lambda: "compiled loops", open_search=_open_search)
