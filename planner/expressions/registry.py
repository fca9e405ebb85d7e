"""Scalar functions by name: what SQL calls them, what they take and give, how they are computed.

A function is one object in one file of `functions/`: its signature, what it does with an example
and the answer to that, and its kernel.

    @scalar(
        "repeat(text, n) -> VARCHAR", "`n` times: repeat('ab', 3) -> 'ababab'", can_fail=True
    )
    @with_constants
    def _repeat(_: Call, text: Values, count: int) -> Values: ...
"""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from typing import Literal as OneOf

import pyarrow as pa

from raydb.errors import DataError
from raydb.late import LateTable, pkgutil
from raydb.planner.expressions.nodes import Call, Expression, Lambda, Literal
from raydb.planner.expressions.signature import Signature, read_signature
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.planner.expressions.columns.arrays import Values

_Decorated = TypeVar("_Decorated", bound="Callable[..., Any]")


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A function of the values of a row.

    name: how calls name it, by default the first of SQL's names. signature and says: as SQL writes
    it, and "meaning: example -> answer" for the reference; none for an operator, or a part of other
    functions. family: the module that it is in.

    compute: returns a scalar where all values are scalars, else one value for each row, of the type
    of the call or of one that is cast to it. None where `bind` makes the call of other functions.
    bind: returns the call of `bind(name, *arguments)`, where the signature does not say enough.

    can_fail: whether it raises DataError, or pa.ArrowInvalid, for some values, or what tells so of
    a call. operation: how a message calls an operator, such as addition. takes: "values", but none
    of the type NULL, which makes the result NULL; "nulls", those too; "rows", on which it evaluates
    its arguments itself. is_volatile: whether it may have another value each time.
    """

    name: str
    signature: Signature | None
    says: str
    family: str
    compute: Callable[..., Values] | None
    bind: Callable[..., Expression] | None = None
    can_fail: bool | Callable[[Call], bool] = False
    operation: str | None = None
    takes: OneOf["values", "nulls", "rows"] = "values"
    is_volatile: bool = False

    def call(self, name: str, arguments: Sequence[Expression]) -> Expression:
        """Return the call that SQL writes with a name; raises ProgrammingError for a wrong one."""
        assert self.signature is not None, "it has a name in SQL"
        self.signature.check_count(name, len(arguments))
        if self.bind is not None:
            return self.bind(name, *arguments)
        return Call(self.name, *self.signature.check(name, arguments))


_FAMILIES = "raydb.planner.expressions.functions"
# The families of the functions that most queries have.
_OPERATORS = ("comparisons", "conditional", "numbers")


@cache
def _import_operators() -> None:
    for family in _OPERATORS:
        import_module(f"{_FAMILIES}.{family}")


@cache
def _import_all() -> None:
    """Import every file of `functions/`, which registers its own."""
    for family in pkgutil.walk_packages(import_module(_FAMILIES).__path__, f"{_FAMILIES}."):
        import_module(family.name)


# Every function that is computed, by the name in calls, and those of SQL by SQL's names.
FUNCTIONS = LateTable[str, ScalarFunction](_import_operators, _import_all)
SCALARS = LateTable[str, ScalarFunction](_import_operators, _import_all)


def scalar(
    signature: str = "",
    says: str = "",
    *,
    name: str = "",
    bind: Callable[..., Expression] | None = None,
    can_fail: bool | Callable[[Call], bool] = False,
    operation: str | None = None,
    takes: OneOf["values", "nulls", "rows"] = "values",
    is_volatile: bool = False,
) -> Callable[[_Decorated], _Decorated]:
    """Register the function that a kernel computes; the arguments are those of `ScalarFunction`."""
    read = read_signature(signature, is_bound=bind is not None) if signature else None
    family = _calling_module()

    def register(kernel: _Decorated) -> _Decorated:
        known = name or next(iter(read.arities if read else ()))
        options = (can_fail, operation, takes, is_volatile)
        function = ScalarFunction(known, read, says, family, kernel, bind, *options)
        first = FUNCTIONS.setdefault(known, function)
        assert first is function, f"there are two functions of the name {known}"
        SCALARS.update(dict.fromkeys(read.arities if read else (), function))
        return kernel

    return register


def composed(signature: str, says: str) -> Callable[[_Decorated], _Decorated]:
    """Register the function that `bind(name, *arguments)` makes of others."""
    read = read_signature(signature, is_bound=True)
    family = _calling_module()

    def register(bind: _Decorated) -> _Decorated:
        known = next(iter(read.arities))
        function = ScalarFunction(known, read, says, family, None, bind)
        SCALARS.update(dict.fromkeys(read.arities, function))
        return bind

    return register


def _calling_module() -> str:
    """Return the name of the module that calls what calls this."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    assert frame.f_back.f_back is not None
    return str(frame.f_back.f_back.f_globals["__name__"])


# -- what is known of a call


def may_raise(expression: Expression) -> bool:
    """Tell whether some row could make the expression fail."""
    if type(expression) is not Call:
        return type(expression) is Lambda and may_raise(expression.body)
    known: bool | None = getattr(expression, "may_raise", None)
    if known is not None:
        return known
    function = FUNCTIONS.get(expression.function)
    can_fail = function is not None and function.can_fail
    found = any(map(may_raise, expression.arguments)) or bool(
        can_fail(expression) if callable(can_fail) else can_fail
    )
    object.__setattr__(expression, "may_raise", found)
    return found


def is_volatile(*expressions: Expression) -> bool:
    """Tell whether one of the expressions may have another value each time it is computed."""
    return bool(volatile_function(*expressions))


def volatile_function(*expressions: Expression) -> str:
    """Return a function in some expressions that may have another value each time; '' for none."""
    waiting = [*expressions]
    for part in waiting:  # without a call a part, for every rule asks
        if type(part) is Call:
            function = FUNCTIONS.get(part.function)
            if function is not None and function.is_volatile:
                return part.function
            waiting += part.arguments
        elif type(part) is Lambda:
            waiting.append(part.body)
    return ""


def constants_fail(call: Call) -> bool:
    """Tell whether a function of a text and constants fails for those of a call, for any text."""
    constants = [
        pa.scalar(argument.value, argument.type)
        for argument in call.arguments[1:]
        if isinstance(argument, Literal)
    ]
    compute = FUNCTIONS[call.function].compute
    if compute is None or len(constants) < len(call.arguments) - 1:
        return True
    try:
        compute(call, pa.scalar(""), *constants)
    except DataError:
        return True
    return False
