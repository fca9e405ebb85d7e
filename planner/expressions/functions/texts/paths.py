r"""The parts of paths.

What parts them is '/' and '\\' or, by a separator's name, one of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import require_text
from raydb.planner.expressions.types import BOOLEAN, TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

_BOTH = "both_slash"
_SEPARATORS = {_BOTH: "/\\", "system": "/", "forward_slash": "/", "backslash": "\\"}


def _separators(name: str) -> str:
    """Return the characters that part a path; another name than the known ones is all of them."""
    return _SEPARATORS.get(name, _SEPARATORS[_BOTH])


def _parts(path: str, separator: str) -> list[str]:
    return re.split(f"[{re.escape(_separators(separator))}]", path)


def _bind_part(kind: pa.DataType) -> Callable[..., Expression]:
    def bind(name: str, path: Expression, *more: Expression) -> Expression:
        texts = (require_text(name, each) for each in (path, *more, Literal(_BOTH, TEXT)))
        path, separator, *_ = texts
        return Call(name, (path, separator), kind)

    return bind


@composed(
    "parse_filename(path [, without_extension] [, separator])",
    "what is behind the last / of a path: parse_filename('data/shop/a.csv'),"
    " parse_filename('data/shop/a.csv', true) -> 'a.csv' | 'a'",
)
def _bind_filename(_: str, path: Expression, *more: Expression) -> Expression:
    is_short = bool(more) and more[0].type == BOOLEAN
    short = more[0] if is_short else Literal(False, BOOLEAN)
    separator = (*more[is_short:], Literal(_BOTH, TEXT))[0]
    texts = (require_text("parse_filename", each) for each in (path, separator))
    return Call("parse_filename", (*texts, short), TEXT)


@scalar(name="parse_filename")
@of_rows
def _parse_filename(path: str, separator: str, is_short: bool) -> str:
    name = _parts(path, separator)[-1]
    return name[: name.rfind(".")] if is_short and "." in name else name


@scalar(
    "parse_dirname(path [, separator])",
    "its first folder: parse_dirname('data/shop/a.csv') -> 'data'",
    bind=_bind_part(TEXT),
)
@of_rows
def _parse_dirname(path: str, separator: str) -> str:
    first, *more = _parts(path, separator)
    return (first or path[0]) if more else ""


@scalar(
    "parse_dirpath(path [, separator])",
    "what is before the last /: parse_dirpath('data/shop/a.csv') -> 'data/shop'",
    bind=_bind_part(TEXT),
)
@of_rows
def _parse_dirpath(path: str, separator: str) -> str:
    end = max(path.rfind(each) for each in _separators(separator))
    return path[: max(end, 0)]


@scalar(
    "parse_path(path [, separator])",
    "all of its parts: parse_path('/data/a.csv') -> ['/', 'data', 'a.csv']",
    bind=_bind_part(pa.list_(TEXT)),
)
@of_rows
def _parse_path(path: str, separator: str) -> list[str]:
    first, *more = _parts(path, separator)
    root = [path[0]] if more and not first else [first] if first else []
    return [*root, *filter(None, more)]
