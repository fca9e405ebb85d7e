"""Table functions whose rows the engine makes of the database itself, beside its tables.

    bvhs()                                            the BVHs, their size and their use
    vector_indexes()                                  the ivf indexes, their lists and their size
    index_calibrations([index])                       what they promise, and whether it still holds
    advise_bvh(workload [, memory [, max_bvhs]])      the BVHs to create for a workload

A statement's reports are found before it is bound, as its files are: they are tables of its
catalog.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from raydb.errors import ProgrammingError, did_you_mean
from raydb.planner.catalog import CatalogInfo
from raydb.sql.bind.binding import Binding
from raydb.sql.bind.query.query import bind_query
from raydb.sql.bind.table_functions.file_functions import named_argument
from raydb.sql.bind.table_functions.files_read import tables_in
from raydb.sql.bind.table_functions.registry import is_report
from raydb.sql.bind.table_functions.series import constant_argument
from raydb.sql.parse.dialect import text_of
from raydb.sql.parse.reader import fold
from raydb.sql.template.parameters import Parameters, bind_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.sql import ast

_ADVICE_ARGUMENTS = ("workload", "memory", "max_bvhs")

# As many as the Star Schema Benchmark needs for its 13 queries.
DEFAULT_BVHS = 4


@dataclass(frozen=True, slots=True)
class BvhList:
    """bvhs()."""


@dataclass(frozen=True, slots=True)
class VectorIndexList:
    """vector_indexes()."""


@dataclass(frozen=True, slots=True)
class CalibrationList:
    """index_calibrations(): those of one index, or of all where it is None."""

    index: str | None


@dataclass(frozen=True, slots=True)
class AdviceRequest:
    """advise_bvh(): the workload is the text of its queries, or the path of a file of them.

    memory is a size such as '2GB', None for no limit.
    """

    workload: str
    memory: str | None = None
    max_bvhs: int = DEFAULT_BVHS


Report: TypeAlias = BvhList | VectorIndexList | CalibrationList | AdviceRequest


def reports_of(
    statement: ast.Select | ast.Insert | ast.Update | ast.Delete,
    views: Mapping[str, str],
    parameters: Parameters = (),
) -> Mapping[str, Report]:
    """Return the reports that a statement reads, also by way of views, by their tables' names.

    Raises ProgrammingError for arguments that a report does not take.
    """
    tables = [table for table in tables_in(statement.tree, views) if is_report(table)]
    if not tables:
        return {}
    needs_values = any(table.find(exp.Parameter, exp.Placeholder) for table in tables)
    values = bind_parameters(statement.tree, parameters) if needs_values else {}
    binding = Binding(CatalogInfo({}), values, bind_query)
    return {text_of(table.this): _report(table.this, binding) for table in tables}


def _report(call: exp.Anonymous, binding: Binding) -> Report:
    name = call.name.lower()
    if name == "index_calibrations":
        return CalibrationList(_index_name(call.expressions, binding))
    if name != "advise_bvh":
        if call.expressions:
            raise ProgrammingError(f"{name}() takes no arguments, not {len(call.expressions)}")
        return BvhList() if name == "bvhs" else VectorIndexList()
    given: dict[str, object] = {}
    for place, argument in enumerate(call.expressions):
        name, value = named_argument(argument) or (_name_at(place, given), argument)
        if name not in _ADVICE_ARGUMENTS:
            raise ProgrammingError(
                f"advise_bvh() takes no argument '{name}'{did_you_mean(name, _ADVICE_ARGUMENTS)}"
            )
        if name in given:
            raise ProgrammingError(f"argument '{name}' of advise_bvh() is given twice")
        given[name] = constant_argument("advise_bvh", value, binding).value
    return _advice_request(given)


def _index_name(arguments: Sequence[exp.Expr], binding: Binding) -> str | None:
    """Return the one argument of index_calibrations(), None where there is none."""
    if not arguments:
        return None
    if len(arguments) > 1 or named_argument(arguments[0]) is not None:
        raise ProgrammingError("index_calibrations() takes the name of an index, or nothing")
    if isinstance(arguments[0], exp.Column) and arguments[0].args.get("table") is None:
        return fold(arguments[0].this)
    name = constant_argument("index_calibrations", arguments[0], binding).value
    if not isinstance(name, str):
        raise ProgrammingError(f"index_calibrations() takes the name of an index, not {name}")
    return name


def _name_at(place: int, given: Mapping[str, object]) -> str:
    """Return the name of an argument that is written without one."""
    if len(given) != place or list(given) != list(_ADVICE_ARGUMENTS[:place]):
        raise ProgrammingError("the arguments of advise_bvh() without a name go first")
    if place >= len(_ADVICE_ARGUMENTS):
        raise ProgrammingError(f"advise_bvh() takes at most {len(_ADVICE_ARGUMENTS)} arguments")
    return _ADVICE_ARGUMENTS[place]


def _advice_request(given: Mapping[str, object]) -> AdviceRequest:
    workload = given.get("workload")
    memory = given.get("memory")
    max_bvhs = given.get("max_bvhs", DEFAULT_BVHS)
    if not isinstance(workload, str):
        raise ProgrammingError(
            "advise_bvh() takes a workload: the text of its queries or the path of a file of them"
        )
    if memory is not None and not isinstance(memory, str):
        raise ProgrammingError(f"the memory of advise_bvh() is a size such as '2GB', not {memory}")
    if not isinstance(max_bvhs, int) or isinstance(max_bvhs, bool) or max_bvhs < 1:
        raise ProgrammingError(f"max_bvhs is a number of BVHs from 1, not {max_bvhs}")
    return AdviceRequest(workload, memory, max_bvhs)
