"""The choice of backends for a fused job, a build or a vector search, with its reasons."""

from __future__ import annotations

from raydb.errors import OperationalError, ProgrammingError, did_you_mean
from raydb.kernels.backends.registry import BACKENDS, obstacle

SETTINGS = ("auto", *dict.fromkeys(entry.setting for entry in BACKENDS.values()))
FALLBACKS = ("next", "error")
ENCODINGS = ("lanes", "paper")

# Why `auto` is the processor, in EXPLAIN.
TOO_SHORT = "auto: too short for a device"

# What stands between the names of backends where EXPLAIN shows them.
ELSE = ", else "


def choose_backends(
    setting: str, fallback: str = "next", rt_encoding: str = "lanes"
) -> tuple[tuple[str, ...], str]:
    """Return (names, reason) for the values of `SET backend`, `SET fallback`, `SET rt_encoding`.

    The names are in the order in which backends are tried: ('cuda', 'cpu'). Raises ProgrammingError
    for a value that is none, OperationalError where this machine does not have the backend and
    fallback is 'error'.
    """
    check_setting("backend", setting, SETTINGS)
    if setting == "auto":
        return ("cpu",), TOO_SHORT
    why = [f"SET backend = '{setting}'"]
    if setting == "cpu":
        return ("cpu",), why[0]
    entry = BACKENDS[setting]
    if setting == "rt" and rt_encoding == "paper":
        entry = BACKENDS["rt-paper"]
        why.append("rt_encoding = 'paper'")
    if entry.is_simulated():
        why.append("in numba's simulator")
    if fallback == "error":
        _check_runs(entry.name)
        return (entry.name,), ", ".join([*why, "fallback = 'error'"])
    names, obstacles = _who_can((entry.name, *entry.then))
    return names, "; ".join([*why, *obstacles])


def choose_by_cost(
    setting: str, backends: tuple[str, ...], reason: str, cost: float, device_cost: float
) -> tuple[tuple[str, ...], str]:
    """Return (names, reason) as `choose_backends` does, for a job whose cost is known.

    backends, reason: what `choose_backends` said; it stays unless the setting is 'auto'. cost: what
    the processor takes, in ns. device_cost: that from which on a device answers sooner.
    """
    if setting != "auto" or cost < device_cost:
        return backends, reason
    if BACKENDS["cuda"].is_simulated():
        return backends, "auto: numba's simulator is no device"
    reason_against = obstacle("cuda")
    if reason_against is not None:
        return backends, f"auto; {reason_against}"
    return ("cuda", "cpu"), f"auto: about {cost / 1e6:.3g} ms on the processor"


def choose_builders(setting: str, fallback: str = "next") -> tuple[tuple[str, ...], list[str]]:
    """Return (names, obstacles) of what builds BVHs and searches vectors.

    Rays do neither, so CUDA does it for them too. The obstacles are why one that is asked for does
    not. Raises OperationalError where this machine cannot, and fallback is 'error'.
    """
    if setting in {"auto", "cpu"}:
        return ("cpu",), []
    entry = BACKENDS[setting]
    names = tuple(name for name in (setting, *entry.then) if BACKENDS[name].open_search)
    if fallback == "error":
        _check_runs(names[0])
        return names[:1], []
    return _who_can(names)


def _who_can(names: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """Return those of some backends that can run here, and why the others cannot."""
    obstacles = {name: obstacle(name) for name in names}
    able = tuple(name for name, reason in obstacles.items() if reason is None)
    return able, [reason for reason in obstacles.values() if reason is not None]


def _check_runs(name: str) -> None:
    reason = obstacle(name)
    if reason is not None:
        raise OperationalError(f"{reason}; SET fallback = 'next' lets another backend answer")


def check_setting(name: str, value: str, known: tuple[str, ...]) -> None:
    """Raise ProgrammingError for a value that a setting does not have."""
    if value not in known:
        raise ProgrammingError(f"{name} '{value}' does not exist{did_you_mean(value, known)}")


def warm_up() -> None:
    """Begin to get what the default backend runs ready, in the background; returns at once."""
    from raydb.kernels.backends.cpu import warm  # noqa: PLC0415  (at first use)

    warm.start()
