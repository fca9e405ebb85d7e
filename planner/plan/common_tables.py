"""Common table expressions in a plan: where they are, copies of their queries, and changes to all.

The query of a reference is a plan of its own: the rules run on it once, however many refer to it.
"""

from __future__ import annotations

import itertools
from dataclasses import fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.planner.expressions.nodes import (
    Attribute,
    Call,
    Column,
    Expression,
    Lambda,
    Literal,
    Subquery,
    columns_of,
    has_subquery,
    rewrite_subqueries,
)
from raydb.planner.expressions.types import DATE
from raydb.planner.plan.nodes import (
    Aggregate,
    Apply,
    CommonTable,
    Constants,
    Filter,
    Limit,
    Node,
    Plan,
    Project,
    Scan,
    Sort,
    WorkingTable,
)
from raydb.storage.enums import EnumType, has_enums
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from raydb.planner.plan.nodes.node import Mentioned


# Of values of other types.
_MAKE_ENUMS = ("enum_value", "try_enum_value")

_LOGIC = ("and", "or")

# By the type of a value in a plan: its fields that may have nodes or columns in them; the query of
# a common table is looked at once.
_fields_of_type: dict[type, tuple[str, ...]] = {
    Attribute: (),
    Call: ("arguments",),
    Column: (),
    CommonTable: ("columns",),
    Constants: ("columns",),
    Literal: (),
}


def subqueries_in(plan: Plan) -> list[Plan]:
    """Return the plans of the subqueries in the expressions of a node itself."""
    found: list[Plan] = []
    # Most are columns, of which nothing is asked.
    expressions = [e for e in plan.expressions if type(e) is not Column and has_subquery(e)]
    for part in expressions:
        if isinstance(part, Call):
            expressions += part.arguments
        elif isinstance(part, Subquery):
            expressions += [argument for _, argument in part.arguments]
            found.append(part.plan)
    return found


# What is in a plan beside kinds of nodes and functions: several filters, a projection that is not
# at the top but for sorts and limits, or below an aggregate that another one reads, a sort that is
# not at the top, groups of which nothing but the keys is asked, keys that are no columns beside
# others, casts of dates, and what folds: calls of constants, ANDs and ORs with one, two NOTs, and
# filters that are constant.
FILTERS = "several filters"
INNER_PROJECTS = "projections below others"
INNER_SORTS = "sorts below others"
KEYS_ALONE = "groups without aggregates"
COMPUTED_KEYS = "computed keys beside others"
DATE_CASTS = "casts of dates"
CONSTANTS = "calls of constants"

# Kinds of types of which no value is an ENUM or has one in it.
_PLAIN_KINDS = frozenset({pa.DataType, pa.Decimal128Type, pa.TimestampType})


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a plan, in its subqueries and in the queries of its common tables.

    kinds: the kinds of nodes, the functions called there, and Subquery where one is; EnumType where
    values of it are, or values that have such ones in them; FILTERS, INNER_PROJECTS and the others
    above where these are. tables: the names of the tables that are scanned.
    """

    kinds: frozenset[type | str]
    tables: frozenset[str]


def contents(plan: Plan) -> Contents:
    """Return what is in a plan, found by one walk."""
    found: set[type | str] = set()
    tables: set[str] = set()
    queries: dict[int, Plan] = {}
    top = plan
    while isinstance(top, Sort | Limit):
        top = top.source
    waiting = [plan]
    while waiting:
        expressions: list[Expression] = []
        for node in waiting:
            if type(node) is Scan:
                tables.add(node.table)
                if _holds_enums(node):
                    found.add(EnumType)
                continue
            _add_node(node, found, is_top=node is plan or node is top)
            waiting += node.sources
            expressions += node.expressions
            if isinstance(node, CommonTable) and id(node.query) not in queries:
                queries[id(node.query)] = node.query
                waiting.append(node.query)
        waiting = _add_expressions(expressions, found)
    if tables:
        found.add(Scan)
    return Contents(frozenset(found), frozenset(tables))


def _add_node(node: Any, found: set[type | str], *, is_top: bool) -> None:
    """Add what a node is, and what it says of the plan."""
    kind: type[Any] = type(node)
    if kind is Filter:
        if kind in found:
            found.add(FILTERS)
        if isinstance(node.predicate, Literal):
            found.add(CONSTANTS)
    elif kind is Project:
        if not is_top:
            found.add(INNER_PROJECTS)
    elif kind is Sort:
        if not is_top:
            found.add(INNER_SORTS)
    elif kind is Aggregate:
        if kind in found:
            found.add(INNER_PROJECTS)
        if not node.aggregates:
            found.add(KEYS_ALONE)
        if len(node.keys) > 1 and any(type(key) is not Column for _, key in node.keys):
            found.add(COMPUTED_KEYS)
    elif not node.source_fields and _holds_enums(node):
        found.add(EnumType)
    found.add(kind)


def _holds_enums(leaf: Node) -> bool:
    """Whether a leaf has values of an ENUM; that of a table is one of many plans."""
    known: bool | None = getattr(leaf, "holds_enums", None)
    if known is None:
        types = [column.type for column in leaf.columns]
        known = not _PLAIN_KINDS.issuperset(map(type, types)) and any(map(has_enums, types))
        object.__setattr__(leaf, "holds_enums", known)
    return known


def _add_expressions(expressions: list[Expression], found: set[type | str]) -> list[Plan]:
    """Add what is in expressions, and return the plans of their subqueries."""
    plans: list[Plan] = []
    for part in expressions:
        if type(part) is Column:
            continue
        if type(part) is Call:
            function, arguments = part.function, part.arguments
            found.add(function)
            if function in _MAKE_ENUMS:
                found.add(EnumType)
            elif function == "cast" and arguments[0].type == DATE:
                found.add(DATE_CASTS)
            is_plain = arguments and type(arguments[0]) is Column and function not in _LOGIC
            if not is_plain and CONSTANTS not in found and _folds(function, arguments):
                found.add(CONSTANTS)
            expressions += arguments
        elif isinstance(part, Literal):
            if type(part.type) not in _PLAIN_KINDS and has_enums(part.type):
                found.add(EnumType)
        elif isinstance(part, Subquery):
            found.add(Subquery)
            plans.append(part.plan)
            expressions += [argument for _, argument in part.arguments]
            expressions += () if part.condition is None else (part.condition,)
    return plans


def _folds(function: str, arguments: tuple[Expression, ...]) -> bool:
    """Whether `fold_constants` may make something else of a call."""
    if function in _LOGIC:
        return len(arguments) <= 1 or any(isinstance(each, Literal) for each in arguments)
    for each in arguments:
        if not isinstance(each, Literal):
            return function == "not" and isinstance(each, Call) and each.function == "not"
    return True


def references_in(plan: Plan) -> tuple[CommonTable, ...]:
    """Return the references in a plan, those in subqueries too, but not in their queries."""
    if isinstance(plan, CommonTable):
        return (plan,)  # which is not kept with itself: it would be a cycle
    known: tuple[CommonTable, ...] | None = getattr(plan, "references", None)
    if known is None:
        found: list[CommonTable] = []
        for part in (*plan.sources, *subqueries_in(plan)):
            found += references_in(part)
        known = tuple(found)
        object.__setattr__(plan, "references", known)
    return known


def map_references(plan: Plan, change: Callable[[CommonTable], Plan]) -> Plan:
    """Return the plan with `change` applied to each of the references in it."""
    if isinstance(plan, CommonTable):
        return change(plan)
    if not references_in(plan):
        return plan
    is_in_subquery = any(map(references_in, subqueries_in(plan)))
    plan = plan.map_sources(partial(map_references, change=change))
    if not is_in_subquery:
        return plan

    def change_subquery(subquery: Subquery) -> Expression:
        return replace(subquery, plan=map_references(subquery.plan, change))

    return plan.map_expressions(lambda expression: rewrite_subqueries(expression, change_subquery))


def map_queries(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """Return the plan with `change` applied to it and, once each and before it, to its queries."""
    return change(map_references(plan, partial(_change_query, change, {})))


def _change_query(
    change: Callable[[Plan], Plan], changed: dict[int, Plan], reference: CommonTable
) -> Plan:
    """Return a reference to the changed query; what `changed` has is that of each number."""
    # A function within `map_queries` that refers to itself would hold its plans until Python's
    # garbage collector comes, whose walks took a tenth of the time of short queries.
    number = reference.number
    if number not in changed:
        below = map_references(reference.query, partial(_change_query, change, changed))
        changed[number] = change(below)
    return with_query(reference, changed[number])


def with_query(reference: CommonTable, query: Plan) -> CommonTable:
    """Return a reference to another query; itself where it is the same one."""
    return reference if query is reference.query else replace(reference, query=query)


def reads_working_table(plan: Plan, number: int) -> bool:
    """Tell whether a plan reads the rows that a recursive query has added last."""
    return any(isinstance(node, WorkingTable) and node.number == number for node in nodes_in(plan))


def nodes_in(plan: Plan) -> Iterator[Plan]:
    """Yield the nodes of a plan, of its subqueries and, once each, of the queries in it."""
    seen: set[int] = set()
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += (*node.sources, *subqueries_in(node))
        if isinstance(node, CommonTable) and node.number not in seen:
            seen.add(node.number)
            waiting.append(node.query)


def queries_in(plan: Plan) -> dict[int, Plan]:
    """Return the queries in a plan by number, each behind those that it refers to itself."""
    found: dict[int, Plan] = {}
    _find_queries(plan, found)
    return found


def _find_queries(plan: Plan, found: dict[int, Plan]) -> None:
    for reference in references_in(plan):
        if reference.number not in found:
            _find_queries(reference.query, found)
            found[reference.number] = reference.query


def free_columns(plan: Plan | Subquery) -> frozenset[Column]:
    """Return the columns that a plan reads but no node of it gives: those of an outer query."""
    every, given = _mentioned(plan)
    return every - given


def _mentioned(plan: Node | Subquery) -> Mentioned:
    """Return all columns of a plan, and those that some node of it gives; nodes keep them."""
    known: Mentioned | None = getattr(plan, "mentioned", None)
    if known is not None:
        return known
    every: set[Column] = set()
    given: set[Column] = set()
    parts: list[Any] = [plan]
    for part in parts:
        kind = type(part)
        if kind is Column:
            every.add(part)
        elif kind is tuple:
            parts += part
        elif kind is Call and not has_subquery(part):
            every |= columns_of(part)  # columns of a lambda are its parameters alone
        elif isinstance(part, Node) and part is not plan:
            every_below, given_below = _mentioned(part)
            every |= every_below
            given |= given_below
        elif names := _names_of(kind):
            parts += [getattr(part, name) for name in names]
            given.update(_given_by(part))
            if kind is CommonTable:
                parts.append(part.query)
    found = frozenset(every), frozenset(given)
    if isinstance(plan, Node):
        object.__setattr__(plan, "mentioned", found)
    return found


def _given_by(part: Any) -> Iterable[Column]:
    """Return the columns that a part of a plan gives: a node, a function, a subquery."""
    if isinstance(part, Lambda):
        return part.parameters
    if isinstance(part, Subquery):
        return [column for column, _ in part.arguments]
    if not isinstance(part, Node):
        return ()
    outer = [column for column, _ in part.arguments] if isinstance(part, Apply) else []
    # Others give those of their sources.
    is_origin = part.definition_fields or part.column_fields or not part.source_fields
    return [*outer, *part.columns] if is_origin else outer


def highest_number(plan: Plan) -> int:
    """Return the highest number of a column in a plan and in the queries in it."""
    return max([part.number for part in _parts(plan) if type(part) is Column], default=-1)


def fresh_numbers(plan: Plan) -> Iterator[int]:
    """Yield numbers of columns that are in no part of a plan, which is searched when asked for."""
    yield from itertools.count(highest_number(plan) + 1)


def renumbered(plan: Plan, numbers: Iterator[int]) -> Plan:
    """Return a copy of a plan whose columns have new numbers, free columns excepted."""
    copy: Plan = _with_new_numbers(plan, numbers)
    return copy


def _with_new_numbers(whole: Any, numbers: Iterator[int]) -> Any:
    return _renumber(whole, numbers, {column: column for column in free_columns(whole)}, {})


def _renumber(
    part: Any, numbers: Iterator[int], new: dict[Column, Column], queries: dict[int, Plan]
) -> Any:
    """Return a part with other columns; `new` and `queries` have those that were changed before."""
    kind = type(part)
    if kind is Column:
        if part not in new:
            new[part] = replace(part, number=next(numbers))
        return new[part]
    if kind is tuple:
        return tuple([_renumber(each, numbers, new, queries) for each in part])
    names = _names_of(kind)
    if not names:
        return part
    changed = {name: _renumber(getattr(part, name), numbers, new, queries) for name in names}
    if kind is CommonTable:
        if id(part.query) not in queries:
            queries[id(part.query)] = _renumber(part.query, numbers, new, queries)
        changed["query"] = queries[id(part.query)]
    return replace(part, **changed)


def separate_subqueries(plan: Plan, numbers: Iterator[int]) -> Plan:
    """Return a plan in which a subquery that several nodes have is another one in each.

    It comes to that where an alias of the select list is used in WHERE or HAVING.
    """
    return _separate(plan, numbers, set())


def _separate(plan: Plan, numbers: Iterator[int], seen: set[int]) -> Plan:
    """Do so in a part of a plan; `seen` are subqueries that nodes above it have."""
    copies: dict[int, Subquery] = {}
    here: set[int] = set()

    def change(subquery: Subquery) -> Expression:
        identity = id(subquery.plan)
        here.add(identity)
        if identity not in seen:
            return subquery
        if identity not in copies:
            copies[identity] = _with_new_numbers(subquery, numbers)
        return copies[identity]

    if subqueries_in(plan):
        plan = plan.map_expressions(lambda expression: rewrite_subqueries(expression, change))
        seen.update(here)
    return plan.map_sources(lambda source: _separate(source, numbers, seen))


def _parts(whole: Any) -> list[Any]:
    """Return a value of a plan and everything in it: nodes, expressions, columns.

    A query that several references share is visited once.
    """
    seen: set[int] = set()
    parts = [whole]
    for part in parts:
        kind = type(part)
        if kind is tuple:
            parts += part
        elif kind is not Column:
            names = _fields_of_type.get(kind)
            if names is None:
                names = _names_of(kind)
            if names:
                parts += [getattr(part, name) for name in names]
            if kind is CommonTable and id(part.query) not in seen:
                seen.add(id(part.query))
                parts.append(part.query)
    return parts


def _names_of(kind: type) -> tuple[str, ...]:
    """Return the fields of a value in a plan that may have nodes or columns in them."""
    names = _fields_of_type.get(kind)
    if names is None:
        is_whole = issubclass(kind, Literal) or not is_dataclass(kind)
        names = () if is_whole else tuple([field.name for field in fields(kind)])
        _fields_of_type[kind] = names
    return names
