"""The settings of a session: `SET name = value`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from raydb.engine.context.memory import DEFAULT_LIMIT, parse_device_memory, parse_limit
from raydb.errors import OperationalError, ProgrammingError, did_you_mean
from raydb.kernels.backends.choice import ENCODINGS, FALLBACKS, SETTINGS, check_setting
from raydb.planner import PlannerOptions

if TYPE_CHECKING:
    from raydb.running import DeviceMemory

MERGES = ("background", "checkpoint")
SWITCH = {"on": True, "true": True, "off": False, "false": False}


@dataclass(frozen=True, slots=True)
class Settings:
    """What SET has set.

    memory_limit, device_memory: as they were written. temp_directory: where temporary files go;
    empty for the database directory, or the system's folder for them where there is none to write
    to.
    plan_cache: whether plans are kept for the same text, and for texts that differ in constants.
    replacement_scans: whether FROM may name Python variables.
    bvh_merge: when newer rows become part of BVHs: in the background too, or at CHECKPOINT alone.
    bvh_merge_share: how many changed rows CHECKPOINT leaves beside a large BVH, as it was written.
    """

    planner: PlannerOptions = field(default_factory=PlannerOptions)
    memory_limit: str = DEFAULT_LIMIT
    device_memory: str = DEFAULT_LIMIT
    temp_directory: str = ""
    plan_cache: bool = True
    replacement_scans: bool = True
    bvh_merge: str = "background"
    bvh_merge_share: str = "1%"

    @property
    def device_budget(self) -> DeviceMemory:
        """What may be held on each device."""
        return parse_device_memory(self.device_memory)


def with_setting(settings: Settings, name: str, value: str) -> Settings:
    """Return the settings with one of them changed.

    backend: 'auto', 'cpu', 'cuda' or 'rt'. fallback: 'next', or 'error' where only the backend that
    was named may answer. rt_encoding: 'lanes' or 'paper'. fused_path: 'on' or 'off'; off sends
    every query to the general path, to compare the two. memory_limit: see `parse_limit`.
    device_memory: see `parse_device_memory`.
    temp_directory: a folder that exists.
    plan_cache, replacement_scans: 'on' or 'off'. bvh_merge: 'background' or 'checkpoint'.
    bvh_merge_share: see `parse_share`.
    Raises ProgrammingError for an unknown setting or value and OperationalError for a folder that
    cannot be written to.
    """
    match name:
        case "backend":
            check_setting(name, value, SETTINGS)
            return replace(settings, planner=replace(settings.planner, backend=value))
        case "fallback":
            check_setting(name, value, FALLBACKS)
            return replace(settings, planner=replace(settings.planner, fallback=value))
        case "rt_encoding":
            check_setting(name, value, ENCODINGS)
            return replace(settings, planner=replace(settings.planner, rt_encoding=value))
        case "fused_path":
            planner = replace(settings.planner, fused_path=_switch(name, value))
            return replace(settings, planner=planner)
        case "plan_cache":
            return replace(settings, plan_cache=_switch(name, value))
        case "replacement_scans":
            return replace(settings, replacement_scans=_switch(name, value))
        case "bvh_merge":
            if value.lower() not in MERGES:
                raise ProgrammingError(f"bvh_merge is 'background' or 'checkpoint', not '{value}'")
            return replace(settings, bvh_merge=value.lower())
        case "bvh_merge_share":
            parse_share(value)
            return replace(settings, bvh_merge_share=value)
        case "memory_limit":
            parse_limit(value)
            return replace(settings, memory_limit=value)
        case "device_memory":
            parse_device_memory(value)
            return replace(settings, device_memory=value)
        case "temp_directory":
            if value and not (Path(value).is_dir() and os.access(value, os.W_OK)):
                raise OperationalError(f"temp_directory '{value}' is no folder to write to")
            return replace(settings, temp_directory=value)
        case _:
            raise _unknown(name)


def parse_share(text: str) -> float:
    """Return the part of a BVH's rows that `SET bvh_merge_share = text` stands for.

    Raises ProgrammingError for another text.

    >>> parse_share("1%"), parse_share("0.5 %")
    (0.01, 0.005)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip())
    if found is None or float(found[1]) > 100:
        raise ProgrammingError(f"bvh_merge_share is like '1%', from '0%' to '100%', not '{text}'")
    return float(found[1]) / 100


def _switch(name: str, value: str) -> bool:
    if value.lower() not in SWITCH:
        raise ProgrammingError(f"{name} is 'on' or 'off', not '{value}'")
    return SWITCH[value.lower()]


def without_setting(settings: Settings, name: str) -> Settings:
    """Return the settings with one of them as it is at first."""
    return with_setting(settings, name, setting_text(Settings(), name))


def setting_text(settings: Settings, name: str) -> str:
    """Return the value of a setting as SET takes it. Raises ProgrammingError for an unknown one."""
    match name:
        case "backend":
            return settings.planner.backend
        case "fallback":
            return settings.planner.fallback
        case "rt_encoding":
            return settings.planner.rt_encoding
        case "fused_path":
            return "on" if settings.planner.fused_path else "off"
        case "plan_cache":
            return "on" if settings.plan_cache else "off"
        case "replacement_scans":
            return "on" if settings.replacement_scans else "off"
        case "bvh_merge":
            return settings.bvh_merge
        case "bvh_merge_share":
            return settings.bvh_merge_share
        case "memory_limit":
            return settings.memory_limit
        case "device_memory":
            return settings.device_memory
        case "temp_directory":
            return settings.temp_directory
        case _:
            raise _unknown(name)


def _unknown(name: str) -> ProgrammingError:
    known = (
        *("backend", "bvh_merge", "bvh_merge_share", "device_memory", "external_access"),
        *("fallback", "fused_path", "memory_limit", "plan_cache", "replacement_scans"),
        *("rt_encoding", "temp_directory"),
    )
    return ProgrammingError(f"setting '{name}' does not exist{did_you_mean(name, known)}")
