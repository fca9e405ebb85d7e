"""A query that was bound once, for all texts and parameters that differ in constants only.

    shape = shape_of("SELECT ... WHERE d_year = 1993")     its key is that of "... WHERE d_year = 7"
    template = bind_template(select, catalog, parameters, shape)
    filled = template.fill(shape.constants, parameters)
    plan = filled.bound()

A constant may differ only where the tree has one at just that place; all others belong to the text.
What the planner's rules make of the plan is kept too, with the same literals open in it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import field, fields, is_dataclass
from operator import is_
from typing import TYPE_CHECKING, Any, TypeAlias

from raydb.planner.expressions.nodes import Attribute, Column, Literal
from raydb.planner.expressions.slots import Hole, Slot, SlotLiteral
from raydb.planner.expressions.vector_value import Vector
from raydb.planner.optimizer import optimize
from raydb.planner.plan.common_tables import Contents, contents
from raydb.planner.plan.nodes import Constants, Scan
from raydb.running import time_zone
from raydb.sql.bind.binding import Binding
from raydb.sql.bind.query.query import bind_query
from raydb.sql.parse.nodes import refuse_deep_nesting
from raydb.sql.template.parameterize import Slots, replay_constants, replay_slot
from raydb.sql.template.parameters import Parameters, bind_parameters, bind_values
from raydb.sql.template.shape import literal_of
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Plan
    from raydb.sql.ast import Select
    from raydb.sql.template.shape import Shape

# The literals of each slot, as the text has them and as conversions have made them.
_Literals: TypeAlias = "Mapping[Slot, Sequence[Literal]]"

# The values of a slot whose vector is rounded once: what was given, and that.
_ROUNDED = 2

# What is in every text that has parameters.
_PARAMETER = re.compile("[?$:]")


def bind_template(
    select: Select, catalog: CatalogInfo, parameters: Parameters, shape: Shape
) -> Template:
    """Bind a query so that others of its shape need not be bound; errors as in `bind_select`."""
    with refuse_deep_nesting():
        is_open = parameters or _PARAMETER.search(shape.key)
        given = bind_parameters(select.tree, parameters) if is_open else {}
        slots = Slots(select.tree, shape.spans(), given)
        open_ones = {name: slot.stand_in() for name, slot in slots.parameters.items()}
        literals: dict[str, Literal] = {**given, **open_ones}
        binding = Binding(catalog, literals, bind_query, slots=slots)
        plan = bind_query(select.tree, binding)
        return Template(plan, slots, shape, given, reads_clock=bool(binding.clock_reads))


class Template:
    """A bound plan in which the literals of slots are left open.

    columns: those of the plan. contents: what is in it. reads_clock: whether it is for the time of
    binding only, like that of a `BoundQuery`.
    """

    def __init__(
        self,
        plan: Plan,
        slots: Slots,
        shape: Shape,
        parameters: Mapping[str, Literal],
        *,
        reads_clock: bool,
    ) -> None:
        self.reads_clock = reads_clock
        self._zone = time_zone()  # constants and casts are of that
        self._constants = slots.of_constants(shape)
        self._parameters = {
            name: (slots.parameters.get(name), literal) for name, literal in parameters.items()
        }
        self.columns = plan.columns
        self.contents = contents(plan)
        self._bound = OpenPlan(plan, has_slots=bool(slots.constants or slots.parameters))
        self._optimized: _OptimizedPlan | None = None

    def fill(self, constants: Sequence[str], parameters: Parameters) -> Filled | None:
        """Return the query with other constants and parameters, None where its plan is another.

        Raises ProgrammingError if a parameter is missing, left over or of no type of SQL.
        """
        if time_zone() != self._zone:
            return None
        literals: dict[Slot, Sequence[Literal]] = {}
        if not replay_constants(self._constants, constants, literals):
            return None
        if self._parameters or parameters or type(parameters) is not tuple:
            given = bind_values(self._parameters.keys(), parameters)
            if not self._replay_parameters(given, literals):
                return None
        return Filled(self, literals)

    def bound(self, literals: _Literals) -> Plan:
        """Return the bound plan with the literals of its slots."""
        return self._bound.fill(literals)

    def optimized(self, literals: _Literals, catalog: Callable[[], CatalogInfo]) -> Filling | None:
        """Return the plan that the rules make of the bound one; None where they have to run."""
        if "now" in self.contents.kinds:
            return None
        if self._optimized is None:
            bound, found = self._bound, self.contents
            self._optimized = _OptimizedPlan(bound, found, literals, catalog())
        return self._optimized.fill(literals)

    def origin_of(self, hole: Hole) -> str | int | None:
        """Return the parameter, or which constant, whose vector is in a hole, rounded to FLOAT.

        None where it is also somewhere else, or read by the binder or the rules.
        """
        assert self._optimized is not None
        origins: dict[str | int, Slot | None]
        origins = {name: slot for name, (slot, _) in self._parameters.items()}
        origins |= {place: slot for place, (slot, _) in enumerate(self._constants)}
        for origin, slot in origins.items():
            holes = [] if slot is None or slot.is_pinned else self._optimized.holes[slot]
            if any(each is hole.slot for each in holes):
                is_rounded = len(holes) == _ROUNDED and hole.slot is holes[1]
                return origin if is_rounded and not any(each.is_pinned for each in holes) else None
        return None

    def rounded(self, place: int, text: str) -> Vector | None:
        """Return the rounded vector of a constant that `origin_of` has told, as it is written."""
        slot, _ = self._constants[place]
        assert slot is not None
        values = slot.replay(literal_of(text))
        value = None if values is None else values[1].value
        return value if isinstance(value, Vector) else None

    def _replay_parameters(
        self, given: Mapping[str, Literal], literals: dict[Slot, Sequence[Literal]]
    ) -> bool:
        """Put the literals of parameters into `literals`, by slot; say whether they fit."""
        for name, (slot, literal) in self._parameters.items():
            is_open = slot is not None and not slot.is_pinned
            if not is_open and repr(given[name]) != repr(literal):
                return False
            if slot is None:
                continue
            if not replay_slot(slot, given[name] if is_open else slot.values[0], literals):
                return False
        return True


@dataclass(frozen=True, slots=True)
class Filled:
    """A template with the literals of its slots."""

    template: Template
    literals: _Literals

    def bound(self) -> Plan:
        """Return the bound plan."""
        return self.template.bound(self.literals)

    def optimized(self, catalog: Callable[[], CatalogInfo]) -> Filling | None:
        """Return the plan behind the rules, where these need not run again for the literals.

        catalog: returns that of the snapshot that the template is kept for.
        """
        return self.template.optimized(self.literals, catalog)


class OpenPlan:
    """A plan with stand-ins for the literals of slots, unless it has none.

    Most plans are filled once: what fills it faster is made the second time. It is some hundred
    functions and cells, which Python's garbage collector walks over as long as they are kept.
    """

    def __init__(self, plan: Plan, *, has_slots: bool) -> None:
        self.plan = plan
        self._has_slots = has_slots
        self._was_filled = False
        self._builder: tuple[_Build | None] | None = None

    def fill(self, literals: _Literals) -> Plan:
        """Return the plan with literals."""
        if not self._has_slots:
            return self.plan
        with refuse_deep_nesting():
            if not self._was_filled:
                first: Plan = _filled(self.plan, literals, {})
                self._was_filled = True
                return first
            if self._builder is None:
                self._builder = (_builder(self.plan, {}),)
            (build,) = self._builder
            plan: Plan = self.plan if build is None else build(_Made(literals))
        return plan


@dataclass(frozen=True, slots=True)
class Filling:
    """A plan behind the rules, and the literals of its holes."""

    open_plan: OpenPlan
    literals: _Literals

    def plan(self) -> Plan:
        """Return the plan with the literals in it."""
        return self.open_plan.fill(self.literals)


class _OptimizedPlan:
    """What the rules make of a bound plan whose literals are holes.

    A rule that reads a literal, or estimates with it, pins the hole: the plan is then for this
    value only.
    """

    def __init__(
        self,
        bound: OpenPlan,
        found: Contents,
        literals: _Literals,
        catalog: CatalogInfo,
    ) -> None:
        self._first = literals
        self.holes = {
            slot: [Slot(each, Hole) for each in all_of] for slot, all_of in literals.items()
        }
        holes = {slot: [hole.stand_in() for hole in all_of] for slot, all_of in self.holes.items()}
        self._open = OpenPlan(optimize(bound.fill(holes), catalog, found), has_slots=bool(holes))

    def fill(self, literals: _Literals) -> Filling | None:
        filled: dict[Slot, Sequence[Literal]] = {}
        for slot, holes in self.holes.items():
            values = literals[slot]
            if values is self._first[slot]:  # as most constants of a text are
                for hole in holes:
                    filled[hole] = hole.values
                continue
            for hole, literal in zip(holes, values, strict=True):
                replayed = hole.values if _is_same(literal, hole) else hole.replay(literal)
                if replayed is None:
                    return None
                filled[hole] = replayed
        return Filling(self._open, filled)


def _is_same(literal: Literal, slot: Slot) -> bool:
    """Whether a literal is the one that a slot was made of, as far as it matters.

    1, 1.0 and True are equal, 0.0 and -0.0 too; they are told apart where the plan is for one only.
    """
    known = slot.values[0]
    return literal is known or (slot.is_pinned and repr(literal) == repr(known))


@dataclass(frozen=True, slots=True)
class _Made:
    """The literals of slots, and the nodes that were made with them, by the nodes of the plan."""

    literals: _Literals
    made: dict[int, Any] = field(default_factory=dict)


_Build = Callable[[_Made], Any]

# What most parts of a plan are.
_WITHOUT_SLOTS = frozenset(
    {Attribute, Column, Constants, Literal, Scan, str, int, bool, type(None)}
)


def _filled(part: Any, literals: _Literals, made: dict[int, Any]) -> Any:
    """Return a part of a plan with the literals of slots; itself where it has none.

    `made` has what nodes have become: a query that several nodes refer to stays one.
    """
    kind: Any = type(part)
    if kind in _WITHOUT_SLOTS:
        return part
    if issubclass(kind, SlotLiteral):
        return literals[part.slot][part.place]
    if kind is tuple:
        changed = [_filled(each, literals, made) for each in part]
        return part if all(map(is_, changed, part)) else tuple(changed)
    assert kind not in (list, dict, set), "plans are made of tuples"
    if id(part) not in made:
        values = [getattr(part, name) for name in _field_names(kind)]
        changed = [_filled(each, literals, made) for each in values]
        made[id(part)] = part if all(map(is_, changed, values)) else kind(*changed)
    return made[id(part)]


def _builder(part: Any, known: dict[int, _Build | None]) -> _Build | None:
    """Return a function that makes a part of a plan anew, None for one without a slot.

    `known` has those of nodes: a query that several nodes refer to is visited once.
    """
    kind: Any = type(part)
    if kind in _WITHOUT_SLOTS:
        return None
    if issubclass(kind, SlotLiteral):
        slot, place = part.slot, part.place
        return lambda filling: filling.literals[slot][place]
    if kind is tuple:
        return _rebuilt(part, part, tuple, known)
    assert kind not in (list, dict, set), "plans are made of tuples"
    if id(part) not in known:
        values = tuple([getattr(part, name) for name in _field_names(kind)])
        build = _rebuilt(part, values, lambda made: kind(*made), known) if values else None
        known[id(part)] = build
    return known[id(part)]


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a node; none for what is no node."""
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()


def _rebuilt(
    part: Any,
    values: tuple[Any, ...],
    make: Callable[[list[Any]], Any],
    known: dict[int, _Build | None],
) -> _Build | None:
    """Return a function that makes a tuple or a node anew from those of its values that differ."""
    builders = [
        (place, build_value)
        for place, each in enumerate(values)
        if type(each) not in _WITHOUT_SLOTS and (build_value := _builder(each, known))
    ]
    if not builders:
        return None

    def build(filling: _Made) -> Any:
        # A query that several nodes refer to stays one.
        if id(part) not in filling.made:
            changed = list(values)
            for place, build_value in builders:
                changed[place] = build_value(filling)
            filling.made[id(part)] = make(changed)
        return filling.made[id(part)]

    return build
