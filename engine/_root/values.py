"""Dataclasses whose methods are made when they are first called.

    @dataclass(frozen=True, slots=True)
    class Interval:
        low: int
        high: int

`dataclasses.dataclass` writes and compiles up to six functions for each class: 0.4 ms, for 400
classes a third of what a process waits for before its first answer, and it uses few of them. Here
a class is born with its fields and slots, in 0.05 ms. The first call of `__init__`, `__repr__`,
`__eq__` or `__hash__` puts what `dataclasses.dataclass` makes in its place; `__init__` is written
here, and takes a frozen class less time. So is what `replace` calls: it takes half to two thirds
of the time of `dataclasses.replace`. All else of `dataclasses` works with these classes.
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import MISSING, FrozenInstanceError, fields
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "replace"]

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from dataclasses import dataclass, replace
else:

    def replace(value: object, /, **changes: object) -> object:
        """Do as `dataclasses.replace`, for an instance of a class that is made here."""
        return value.__replace__(**changes)

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
            for name in (*names, "__replace__"):
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
    if name == "__init__":
        return _init_of(owner, fields(owner), frozen=frozen)
    if name == "__replace__":
        return _replace_of(owner, fields(owner))
    return _of_twin(owner, name)


def _init_of(owner: Any, known: Sequence[dataclasses.Field[Any]], *, frozen: bool) -> Any:
    """Write `__init__` as `dataclasses` does, but a frozen class with slots sets these directly.

    `object.__setattr__` looks for them by name: an instance takes 1.6 times as long.
    """
    given: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    parameters, lines = ["self"], []
    for field in known:
        name, value = field.name, field.name
        given[f"_default_{name}"] = field.default
        if field.default_factory is not MISSING:
            given[f"_default_{name}"] = MISSING
            given[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        if field.init:
            has_default = field.default is not MISSING or field.default_factory is not MISSING
            parameters.append(f"{name}=_default_{name}" if has_default else name)
        elif field.default_factory is not MISSING:
            value = f"_make_{name}()"
        elif field.default is not MISSING:
            value = f"_default_{name}"
        else:
            continue
        slot = getattr(owner, name, None)
        if frozen and isinstance(slot, MemberDescriptorType):
            given[f"_set_{name}"] = slot.__set__
            lines.append(f"_set_{name}(self, {value})")
        else:
            lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(owner, "__post_init__"):
        lines.append("self.__post_init__()")
    return _compiled(owner, "__init__", parameters, lines or ["pass"], given)


def _replace_of(owner: Any, known: Sequence[dataclasses.Field[Any]]) -> Any:
    """Write what makes another instance: `__replace__`, as `copy.replace` calls it too."""
    names = [field.name for field in known if field.init]
    parameters = ["self", *(["*"] if names else []), *(f"{name}=_MISSING" for name in names)]
    values = [f"self.{name} if {name} is _MISSING else {name}" for name in names]
    line = f"return self.__class__({', '.join(values)})"
    return _compiled(owner, "__replace__", parameters, [line], {"_MISSING": MISSING})


def _compiled(
    owner: Any, name: str, parameters: Sequence[str], lines: Sequence[str], given: dict[str, Any]
) -> Any:
    """Return a method of these parameters and lines, which know the names in `given`."""
    body = "\n ".join(lines)
    exec(f"def {name}({', '.join(parameters)}):\n {body}", given)  # noqa: S102  (names of fields)
    method = given[name]
    method.__qualname__, method.__module__ = f"{owner.__qualname__}.{name}", owner.__module__
    return method


def _of_twin(owner: Any, name: str) -> Any:
    """Return a method that `dataclasses` makes for a class of the same fields and no bases."""
    known = fields(owner)
    members: dict[str, Any] = {field.name: copy.copy(field) for field in known}
    members["__annotations__"] = {field.name: field.type for field in known}
    for kept in ("__module__", "__qualname__", "__doc__"):
        members[kept] = getattr(owner, kept)
    is_hash = name == "__hash__"
    make: Any = dataclasses.dataclass(
        init=False,
        repr=name == "__repr__",
        eq=is_hash or name == "__eq__",
        unsafe_hash=is_hash,
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
