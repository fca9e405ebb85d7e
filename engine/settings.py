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
            near = did_you_mean(name, ("backend", "fused_path"))
            raise ProgrammingError(f"setting '{name}' does not exist{near}")
