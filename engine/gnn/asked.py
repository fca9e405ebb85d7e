"""What a call of `raydb.gnn.train` asks for, checked."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from raydb.errors import ProgrammingError, did_you_mean
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMBINES = ("average", "partial")
_DEPENDENCIES = ("auto", "communicate", "cache")


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """The arguments of `raydb.gnn.train`, which tells what they are."""

    target: str
    features: str = "x"
    train: Any = None
    parts: int = 1
    epochs: int = 10
    combine: str = "average"
    dependencies: str = "auto"
    every: int = 1
    lr: float = 0.01
    weight_decay: float = 0.0
    alpha: float = 0.5
    staleness: int = 3
    seed: int = 1
    cluster: Any = None
    cluster_insecure: bool = False
    checkpoint: str | None = None
    checkpoint_every: int = 10
    resume: bool = False

    def check(self) -> None:
        """Raise ProgrammingError for arguments that mean nothing."""
        for name, least in (
            ("parts", 1),
            ("epochs", 0),
            ("every", 1),
            ("staleness", 1),
            ("checkpoint_every", 1),
            ("seed", 0),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ProgrammingError(f"{name} is a whole number from {least}, not {value!r}")
        for name in ("lr", "weight_decay", "alpha"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or math.isnan(value) or value < 0:
                raise ProgrammingError(f"{name} is a number from 0, not {value!r}")
        for name, known in (("combine", _COMBINES), ("dependencies", _DEPENDENCIES)):
            if getattr(self, name) not in known:
                shown = ", ".join(f"'{each}'" for each in known)
                raise ProgrammingError(f"{name} is one of {shown}, not {getattr(self, name)!r}")
        if self.combine == "average" and self.dependencies == "communicate":
            raise ProgrammingError(
                "combine='average' trains each part alone, so its dependencies are 'cache'"
            )
        if self.combine == "partial" and self.every != 1:
            raise ProgrammingError(
                "every is for combine='average'; gradients are combined each epoch"
            )
        if self.resume and self.checkpoint is None:
            raise ProgrammingError("resume=True needs the name of a checkpoint")


def asked_of(target: str, options: Mapping[str, Any]) -> Asked:
    """Return what is asked for. Raises ProgrammingError for what is no option, or means nothing."""
    known = [each.name for each in fields(Asked) if each.name != "target"]
    for name in options:
        if name not in known:
            raise ProgrammingError(f"train() has no option '{name}'{did_you_mean(name, known)}")
    asked = Asked(target, **options)
    asked.check()
    return asked
