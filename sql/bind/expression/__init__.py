"""Scalar expressions, bound: each kind of node has its binder in one of these files."""

from raydb.sql.bind.expression import calls, operators, plain

__all__ = ["calls", "operators", "plain"]
