"""Which backend runs a fused job, and why; a backend is imported when it is first launched."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from raydb.errors import OperationalError, ProgrammingError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.kernels.backends.backend import Backend
    from raydb.kernels.backends.rt.scene import Encoding
    from raydb.kernels.backends.rt.tracer import Tracer
    from raydb.kernels.vector.exact_search import Neighbours

SETTINGS = ("auto", "cpu", "cuda", "rt")
FALLBACKS = ("next", "error")
ENCODINGS = ("lanes", "paper")

# Who is tried after whom.
ORDERS = {"cpu": ("cpu",), "cuda": ("cuda", "cpu"), "rt": ("rt", "cuda", "cpu")}

# What stands between the names of a chain, as EXPLAIN shows it and `load_backend` takes it.
ELSE = ", else "


def choose_backend(
    setting: str, fallback: str = "next", rt_encoding: str = "lanes"
) -> tuple[str, str]:
    """Return (name, reason) for the values of `SET backend`, `SET fallback`, `SET rt_encoding`.

    The name is that of one backend, or of several in the order in which they are tried: 'cuda, else
    cpu'. Raises ProgrammingError for a value that is none, OperationalError where this machine does
    not have the backend and fallback is 'error'.
    """
    check_setting("backend", setting, SETTINGS)
    if setting == "auto":
        # None of the others has been measured on a device yet.
        return "cpu", "auto: a device is for those who name it"
    if setting == "cpu":
        return "cpu", "SET backend = 'cpu'"
    from raydb.kernels.backends.probe import is_simulated, obstacle  # noqa: PLC0415  (few ask for a device)

    why = [f"SET backend = '{setting}'"]
    if setting == "rt" and rt_encoding == "paper":
        why.append("rt_encoding = 'paper'")
    if setting == "cuda" and is_simulated():
        why.append("in numba's simulator")
    if fallback == "error":
        reason = obstacle(setting)
        if reason is not None:
            raise OperationalError(f"{reason}; SET fallback = 'next' lets another backend answer")
        return _full_name(setting, rt_encoding), ", ".join([*why, "fallback = 'error'"])
    names = []
    for name in ORDERS[setting]:
        reason = obstacle(name)
        if reason is None:
            names.append(_full_name(name, rt_encoding))
        else:
            why.append(reason)
    return ELSE.join(names), "; ".join(why)


def choose_without_rays(setting: str, fallback: str = "next") -> tuple[str, str | None]:
    """Return (name, obstacle) of what builds BVHs and searches vectors.

    Rays do neither, so CUDA does it for them too. The obstacle is why it does not, though a device
    is asked for. Raises OperationalError where this machine
    cannot, and fallback is 'error'.
    """
    if setting in {"auto", "cpu"}:
        return "cpu", None
    from raydb.kernels.backends.probe import obstacle  # noqa: PLC0415  (as above)

    reason = obstacle("cuda")
    if reason is None:
        return ("cuda" if fallback == "error" else ELSE.join(ORDERS["cuda"])), None
    if fallback == "error":
        raise OperationalError(f"{reason}; SET fallback = 'next' lets another backend answer")
    return "cpu", reason


def check_setting(name: str, value: str, known: tuple[str, ...]) -> None:
    """Raise ProgrammingError for a value that a setting does not have."""
    if value not in known:
        raise ProgrammingError(f"{name} '{value}' does not exist{did_you_mean(value, known)}")


def _full_name(name: str, rt_encoding: str) -> str:
    return "rt-paper" if name == "rt" and rt_encoding == "paper" else name


def load_backend(name: str) -> Backend:
    """Return a backend, or the chain of several, that `choose_backend` named."""
    if name == "cpu":
        return open_backend("cpu")
    from raydb.kernels.backends.fallback import ChainBackend  # noqa: PLC0415  (few processes need all)

    return ChainBackend(name.split(ELSE), open_backend)


@cache
def open_backend(name: str) -> Backend:
    """Import and make one backend. Raises DeviceError for one whose libraries do not load."""
    match name:
        case "cpu":
            from raydb.kernels.backends.cpu.cpu_backend import CpuBackend  # noqa: PLC0415  (as above)

            return CpuBackend()
        case "cuda" | "rt" | "rt-paper":
            return _open_device(name)
        case _:
            raise AssertionError(name)


def _open_device(name: str) -> Backend:
    from raydb.kernels.backends.device import DeviceError, faults  # noqa: PLC0415  (as above)

    try:
        if name == "cuda":
            with faults.translated("cuda"):
                from raydb.kernels.backends.cuda.cuda_backend import CudaBackend  # noqa: PLC0415  (as above)

                return CudaBackend()
        with faults.translated("rt"):
            from raydb.kernels.backends.rt.rt_backend import RtBackend, Scenes  # noqa: PLC0415  (as above)

            encoding: Encoding = "paper" if name == "rt-paper" else "lanes"
            return RtBackend(encoding, [Scenes(tracer) for tracer in open_tracers()])
    except ImportError as error:
        raise DeviceError(f"{name}: a library does not load: {error}") from error


@cache
def open_tracers() -> tuple[Tracer, ...]:
    """Return what traces rays on each device of this machine."""
    from raydb.kernels.backends.rt import optix_tracer  # noqa: PLC0415  (as above)

    return optix_tracer.open_tracers()


def open_search() -> Callable[..., Neighbours]:
    """Return the search of vectors on a device. Raises DeviceError where it does not load."""
    from raydb.kernels.backends.device import DeviceError, faults  # noqa: PLC0415  (as above)

    try:
        with faults.translated("cuda"):
            from raydb.kernels.backends.cuda.list_scan import search_on_device  # noqa: PLC0415  (as above)
    except ImportError as error:
        raise DeviceError(f"cuda: a library does not load: {error}") from error
    return search_on_device


def forget_backends() -> None:
    """Make backends anew when they are next used; the tracers, with their programs, stay."""
    open_backend.cache_clear()


def warm_up() -> None:
    """Begin to get what the default backend runs ready, in the background; returns at once."""
    from raydb.kernels.backends.cpu import warm  # noqa: PLC0415  (as above)

    warm.start()
