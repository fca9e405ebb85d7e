"""The protocol of table functions: what a call in FROM takes, and what it becomes in a plan.

    TableFunction         a name and its arguments
      OpenedFunction      rows that the engine makes before the statement is bound, as of a file
      PlannedFunction     `bind`: a call to a plan
        RowsFunction      constant rows, made of the arguments and the catalog
        SearchFunction    rows found in another table: runs with the plan

A function is an object, and `register` makes it known to all layers: to FROM, functions(), EXPLAIN
and completion. Those that RayDB has are listed in `engine/table_functions/registered.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from typing import TYPE_CHECKING, Any

from raydb.late import LateTable
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Literal
from raydb.planner.plan.nodes import Constants, SearchRows, Values
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.lower import Lowering
    from raydb.planner.ordered_rows import RowOrder
    from raydb.planner.plan.function_arguments import Argument
    from raydb.planner.plan.nodes import Plan, Search
    from raydb.planner.segments.rows import AskedRows
    from raydb.storage.tables.table import Table

    BindText = Callable[
        [Literal, str, Mapping[str, Sequence[Column]], Sequence[Column]], Expression
    ]

TABLE_FUNCTIONS = LateTable[str, "TableFunction"]()
"""All table functions by name; `register` adds one. The engine says how those that it has do."""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call in FROM with its arguments by name, read as the function declares them.

    constants: those whose value is known. varying: expressions over the tables before the call.
    rows: what a function searches, and columns: the columns of it that arguments name.
    tables: other rows, by the arguments that give them.
    new_column: makes a column of a name and a type. view_columns: tells those of a view.
    bind_text: binds a condition that is written in a text, named in errors, over tables with their
    columns and over columns without one.
    """

    function: TableFunction
    catalog: CatalogInfo
    new_column: Callable[[str, pa.DataType], Column]
    view_columns: Callable[[str], Sequence[Column]]
    constants: Mapping[str, Literal]
    varying: Mapping[str, Expression] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)
    rows: Plan | None = None
    tables: Mapping[str, Plan] = field(default_factory=dict)
    bind_text: BindText | None = None

    def value(self, name: str) -> Any:
        """Return the value of an argument, its default where it is not given."""
        return self.function.value(name, self.constants)


class TableFunction(ABC):
    """A function in FROM.

    usage: what it takes, for an error. is_positional: its arguments have no names in a call.
    names_column: an alias of the call names its one column too, as in PostgreSQL. searches: its
    first argument is a table. places: how many arguments follow that without a name. is_called:
    calls are written; else words of SQL stand for them.
    """

    name: str
    arguments: tuple[Argument, ...] = ()
    usage = ""
    is_positional = False
    names_column = False
    searches = False
    places = 0
    is_called = True

    @property
    def named(self) -> tuple[str, ...]:
        """The arguments that a call may name."""
        known = () if self.is_positional else self.arguments[self.places :]
        return tuple(argument.name for argument in known)

    def argument(self, name: str) -> Argument:
        """Return the argument of a name."""
        return next(each for each in self.arguments if each.name == name)

    def value(self, name: str, constants: Mapping[str, Literal]) -> Any:
        """Return the value of an argument among constants, its default where it is not there."""
        literal = constants.get(name)
        shown = "" if literal is None else self.shown(literal)
        return self.argument(name).value_of(literal, self.name, shown)

    def shown(self, literal: Literal) -> str:
        """Return how an error calls a constant."""
        return describe(literal)


def register(function: TableFunction) -> None:
    """Make a function known by its name, in place of another one of that name."""
    TABLE_FUNCTIONS[function.name] = function


class OpenedFunction(TableFunction):
    """A function whose rows the engine makes before the statement is bound.

    They are a table for as long as the statement runs, called as the call is written.
    """

    @abstractmethod
    def open(self, call: FunctionCall, database: Any) -> pa.Table:
        """Return the rows; database: the engine's `StatementContext`."""


class PlannedFunction(TableFunction):
    """A function whose calls are plans."""

    @abstractmethod
    def bind(self, call: FunctionCall) -> Plan:
        """Return the rows of a call; raises ProgrammingError for arguments that do not fit."""


class RowsFunction(PlannedFunction):
    """A function of constant rows. schema: its columns."""

    schema: pa.Schema

    @abstractmethod
    def rows(self, call: FunctionCall) -> Iterable[Sequence[object]]:
        """Return the rows, a value for each column."""

    def bind(self, call: FunctionCall) -> Plan:
        """Return the rows as a plan."""
        return constant_rows(self.schema, self.rows(call), call.new_column)


def constant_rows(
    schema: pa.Schema,
    rows: Iterable[Sequence[object]],
    new_column: Callable[[str, pa.DataType], Column],
) -> Constants:
    """Return constant rows as a plan."""
    columns = tuple(new_column(field.name, field.type) for field in schema)
    return Constants(columns, tuple(tuple(map(Literal, row, schema.types)) for row in rows))


class SearchFunction(PlannedFunction):
    """A function that searches a table, its first argument, for each row of the tables before it.

    `bind` returns a `Search` whose left plan is `ONE_ROW`. refuses_null: a constant NULL is an
    error of its own. gives_rows: rows of the table are in the result, and not only what is found.
    every_row: LATERAL asks for each row of the tables before it, and not for each distinct one.
    explains_lone_row: EXPLAIN shows the one row that asks where no table is before the call.
    orders_by: scalar functions by which it may know the first rows.
    """

    searches = True
    refuses_null = True
    gives_rows = False
    every_row = False
    explain_name = "SearchRows"
    explains_lone_row = False
    star_reason = "it aggregates over a search"
    orders_by: frozenset[str] = frozenset()

    @abstractmethod
    def run(self, plan: SearchRows, columns: Sequence[Column], sources: Any) -> Any:
        """Return some columns of the rows; sources: those of `engine.operators.run`."""

    def stream(self, plan: SearchRows, columns: Sequence[Column], sources: Any) -> Any:
        """Return an iterator over some columns of the rows, some at a time; None where all are one.

        It may be left before its end.
        """
        return None

    def rows_per_row(self, plan: Search) -> float:
        """Return about how many rows a row that asks gets."""
        return 1.0

    def sees_order(self, plan: Search) -> bool:
        """Tell whether the answer depends on the order of the table's rows."""
        return False

    def lower(self, plan: Search, lowering: Lowering) -> Plan:
        """Choose how a search runs."""
        return SearchRows.of(plan, lowering)

    def in_segments(
        self, plan: SearchRows, catalog: CatalogInfo, numbers: Iterator[int]
    ) -> AskedRows | str | None:
        """Return how segments of a table give the rows, or why they cannot.

        numbers: gives new columns theirs. None where that is nothing to tell.
        """
        return None

    def slices(self, plan: SearchRows, numbers: Sequence[int], count: int, sources: Any) -> Any:
        """Return rows of some slices of a search, of so many in all; see `AskedRows.slices`."""
        raise NotImplementedError

    def of_slices(self, plan: SearchRows, rows: Any, sources: Any) -> Any:
        """Return the rows of a search from those of all slices, None where these do not do."""
        raise NotImplementedError

    def first_rows(self, order: RowOrder, lowering: Lowering) -> Plan | str | None:
        """Return rows among which the first ones in an order are; or why it has none.

        None where that is nothing to tell.
        """
        return None

    def summary(self, plan: SearchRows) -> str:
        """Return what EXPLAIN prints behind the name of a search."""
        return self.name

    def details(self, plan: SearchRows) -> dict[str, Any]:
        """Return what else EXPLAIN says of a search."""
        return {}

    def state(self, plan: SearchRows, tables: Mapping[str, Table], cache: Any) -> Mapping[str, str]:
        """Return what EXPLAIN says of a search at the moment; cache: the engine's DerivedCache."""
        return {}

    def told_of_filter(self, plan: SearchRows, predicate: Expression, left_out: int) -> str:
        """Return what to tell of a filter above a search that leaves out rows; "" for nothing."""
        return ""

    def measured(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """Return what EXPLAIN ANALYZE says of what a search has counted in its trace."""
        return {}


ONE_ROW = Values((), ((),))
"""What a search is asked by where no table is before its call."""
