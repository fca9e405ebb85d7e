"""The settings of a session: `SET name = value`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError, did_you_mean
from raydb.kernels.choice import choose_backend

if TYPE_CHECKING:
    from raydb.planner import PlannerOptions

SWITCH = {"on": True, "true": True, "off": False, "false": False}


def with_setting(options: PlannerOptions, name: str, value: str) -> PlannerOptions:
    """Return the options with one setting changed.

    backend: 'auto' or 'cpu'. fused_path: 'on' or 'off'; off sends every query to the general path,
    to compare the two. Raises ProgrammingError for an unknown setting or value.
    """
    match name:
        case "backend":
            choose_backend(value)
            return replace(options, backend=value)
        case "fused_path":
            if value.lower() not in SWITCH:
                raise ProgrammingError(f"fused_path is 'on' or 'off', not '{value}'")
            return replace(options, fused_path=SWITCH[value.lower()])
        case _:
            raise _unknown(name)


def without_setting(options: PlannerOptions, name: str) -> PlannerOptions:
    """Return the options with one setting as it is at first."""
    return with_setting(options, name, setting_text(type(options)(), name))


def setting_text(options: PlannerOptions, name: str) -> str:
    """Return the value of a setting as SET takes it. Raises ProgrammingError for an unknown one."""
    match name:
        case "backend":
            return options.backend
        case "fused_path":
            return "on" if options.fused_path else "off"
        case _:
            raise _unknown(name)


def _unknown(name: str) -> ProgrammingError:
    near = did_you_mean(name, ("backend", "external_access", "fused_path"))
    return ProgrammingError(f"setting '{name}' does not exist{near}")
