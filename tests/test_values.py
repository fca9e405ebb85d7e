"""Dataclasses that are made late behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from dataclasses import FrozenInstanceError, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from raydb import values


@values.dataclass(frozen=True, slots=True)
class Base:
    name: str
    parts: tuple[int, ...] = ()
    seen: list[int] = field(default_factory=list, compare=False, repr=False)
    KINDS: ClassVar[int] = 3


@values.dataclass(frozen=True, slots=True)
class Derived(Base):
    ok: bool = True
    double: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.name)


@values.dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Identity:
    name: str


@values.dataclass(slots=True)
class Changing:
    name: str
    count: int = 0


@values.dataclass(frozen=True)
class Own:
    name: str

    def __init__(self) -> None:
        object.__setattr__(self, "name", "own")

    def __repr__(self) -> str:
        return "mine"

    def __hash__(self) -> int:
        return 7


def test_nothing_is_made_before_it_is_used() -> None:
    @values.dataclass(frozen=True, slots=True)
    class Late:
        name: str

    def waiting() -> list[str]:
        names = ("__init__", "__eq__", "__hash__", "__repr__", "__replace__")
        return [name for name in names if hasattr(getattr(Late, name), "stands_in")]

    assert waiting() == ["__init__", "__eq__", "__hash__", "__repr__", "__replace__"]
    assert values.replace(Late("b"), name="a").name == "a"
    assert waiting() == ["__eq__", "__hash__", "__repr__"]
    assert Late("a") == Late("a")
    assert waiting() == ["__hash__", "__repr__"]
    assert hash(Late("a")) == hash(("a",))
    assert waiting() == ["__repr__"]


def test_values_are_equal_hashed_and_shown_by_their_fields() -> None:
    base = Base("a", seen=[1])
    assert base == Base("a", (), [2])
    assert base != Base("b")
    assert base != Derived("a")
    assert hash(base) == hash(Base("a")) == hash(("a", ()))
    assert repr(Derived("a", ok=False)) == ("Derived(name='a', parts=(), ok=False, double='aa')")
    assert dataclasses.asdict(Changing("a")) == {"name": "a", "count": 0}
    assert Base("a").seen is not Base("a").seen
    match Derived("a", (1, 2)):
        case Derived(name, parts):
            assert (name, parts) == ("a", (1, 2))
    for call in (Base, lambda: Base("a", (), [], 4), lambda: Derived("a", double="b")):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            call()


@pytest.mark.parametrize("replace", [dataclasses.replace, values.replace])
def test_another_value_differs_in_the_fields_that_are_named(replace: Any) -> None:
    base = Base("a", seen=[1])
    assert replace(base, name="c") == Base("c")
    assert replace(base).seen is base.seen
    assert replace(base, parts=(1,), seen=[2]).seen == [2]
    assert replace(Derived("a"), name="b") == Derived("b")
    assert replace(Changing("a", 1), name="b") == Changing("b", 1)
    assert type(replace(Derived("a"), ok=False)) is Derived
    for name in ("wrong", "double"):
        with pytest.raises((TypeError, ValueError), match=name):
            replace(Derived("a"), **{name: 1})


def test_frozen_values_cannot_be_changed() -> None:
    for frozen in (Base("a"), Derived("a"), Identity("a"), Own()):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
            frozen.name = "b"  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
            del frozen.name
    changing = Changing("a")
    changing.count += 1
    assert changing == Changing("a", 1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(changing)


def test_values_without_eq_are_themselves() -> None:
    first, other = Identity("a"), Identity("a")
    assert first != other
    assert len({first, other}) == 2


def test_what_a_class_defines_stays() -> None:
    assert (Own().name, repr(Own()), hash(Own())) == ("own", "mine", 7)
    assert Own() == Own()


@pytest.mark.parametrize("value", [Base("a", (1,)), Derived("a"), Changing("a", 2)])
def test_values_are_copied_and_pickled(value: Any) -> None:
    assert copy.copy(value) == value
    assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value


def test_two_threads_may_make_the_first_one() -> None:
    for _ in range(20):

        @values.dataclass(frozen=True, slots=True)
        class Late:
            name: str

        together, found = threading.Barrier(4), []

        def make(late: Any = Late, together: Any = together, found: Any = found) -> None:
            together.wait(10)
            found.append(late("a"))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(found) == {Late("a")}


def test_the_package_has_no_other_dataclasses_and_replaces_no_fields_otherwise() -> None:
    root = Path(__file__).resolve().parent.parent
    files = [
        path
        for top in ("engine", "kernels", "planner", "sql", "storage")
        for path in (root / top).rglob("*.py")
        # The classes of dbt's adapter are derived from dbt's.
        if root / "engine/dbt" not in path.parents
    ]
    assert len(files) > 400
    found = [
        str(path.relative_to(root))
        for path in files
        if path.name != "values.py"
        and any(
            line.startswith("from dataclasses import")
            and not {"dataclass", "replace"}.isdisjoint(line.split()[3:])
            for line in path.read_text(encoding="utf-8").replace(",", " ").splitlines()
        )
    ]
    assert found == []
