"""The SQL of Ibis' expressions: DuckDB's, by Ibis' own compiler, but for what RayDB means by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ibis.expr.datatypes as dt
import sqlglot.expressions as sge
from ibis.backends.sql.compilers.base import FuncGen
from ibis.backends.sql.compilers.duckdb import DuckDBCompiler

if TYPE_CHECKING:
    import ibis.expr.operations as ops


class _Functions(FuncGen):
    """Calls of functions, but for those that sqlglot's compiled modules do not take for calls."""

    __slots__ = ()
    _AS_WRITTEN = frozenset({"mod", "any_value", "uuid"})

    def __getattr__(self, name: str) -> Any:
        return self.anon[name] if name in self._AS_WRITTEN else super().__getattr__(name)


class Compiler(DuckDBCompiler):
    """Ibis' compiler for DuckDB, whose integers are divided as DuckDB's are, but not by zero."""

    def __init__(self) -> None:
        super().__init__()
        self.f = _Functions(dialect=self.dialect, copy=False)

    def visit_Divide(self, op: ops.Divide, *, left: Any, right: Any) -> Any:
        """Divide integers as doubles."""
        if op.left.dtype.is_integer() and op.right.dtype.is_integer():
            left = self.cast(left, dt.float64)
        return self.binop(sge.Div, left, right)

    def visit_FloorDivide(self, op: ops.FloorDivide, *, left: Any, right: Any) -> Any:
        """Round a quotient down, which is not how integers are divided."""
        quotient = self.visit_Divide(op, left=left, right=right)
        return self.cast(self.f.floor(quotient), op.dtype)

    def visit_ExtractSecond(self, op: ops.ExtractSecond, *, arg: Any) -> Any:
        """Leave out the fraction of a second."""
        return self.cast(self.f.floor(self.f.extract(self.v.second, arg)), op.dtype)

    def visit_ExtractMillisecond(self, op: ops.ExtractMillisecond, *, arg: Any) -> Any:
        """Leave out the fraction of a millisecond, and whole seconds."""
        found = self.f.floor(self.f.extract(self.v.ms, arg))
        return self.cast(self.f.mod(found, 1_000), op.dtype)

    def visit_Hash(self, op: ops.Hash, *, arg: Any) -> Any:
        """Make a signed number of hash()."""
        return self.cast(self.binop(sge.BitwiseRightShift, self.f.hash(arg), 1), op.dtype)

    def visit_NonNullLiteral(self, op: ops.Literal, *, value: Any, dtype: dt.DataType) -> Any:
        """Write an interval's unit as the compiled modules of sqlglot take it."""
        if dtype.is_interval() and dtype.unit.short != "ns":
            return sge.Interval(this=sge.convert(str(value)), unit=sge.var(dtype.resolution))
        return super().visit_NonNullLiteral(op, value=value, dtype=dtype)
