"""Which backend runs a fused job, and why; a backend is imported when it is first launched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import OperationalError, ProgrammingError, did_you_mean

if TYPE_CHECKING:
    from raydb.kernels.backend import Backend

SETTINGS = ("auto", "cpu", "cuda", "rt")


def choose_backend(setting: str) -> tuple[str, str]:
    """Return (name, reason) of the backend for a value of `SET backend`.

    Raises ProgrammingError for a value that is none, OperationalError for a backend that this
    version or this machine does not have.
    """
    match setting:
        case "auto":
            return "cpu", "auto: this version has no other backend"
        case "cpu":
            return "cpu", "SET backend = 'cpu'"
        case "cuda" | "rt":
            raise OperationalError(f"backend '{setting}' is not part of this version; use 'cpu'")
        case _:
            raise ProgrammingError(
                f"backend '{setting}' does not exist{did_you_mean(setting, SETTINGS)}"
            )


def load_backend(name: str) -> Backend:
    """Import a backend that `choose_backend` named."""
    assert name == "cpu", name
    from raydb.kernels.cpu.backend import CpuBackend  # noqa: PLC0415  (few processes need all)

    return CpuBackend()


def warm_up() -> None:
    """Begin to get what the default backend runs ready, in the background; returns at once."""
    from raydb.kernels.cpu import warm  # noqa: PLC0415  (as above)

    warm.start()
