"""SQL text in, bound logical plan out. The only caller of sqlglot."""

from __future__ import annotations

from raydb.sql.bind_bvh import bind_bvh
from raydb.sql.bind_insert import bind_insert
from raydb.sql.bind_select import bind_select
from raydb.sql.parser import parse
from raydb.sql.statements import (
    Begin,
    Commit,
    Copy,
    CreateBvh,
    CreateTable,
    CreateView,
    DropBvh,
    DropTable,
    DropView,
    Explain,
    Insert,
    Rollback,
    Select,
    SetOption,
    Statement,
)
from raydb.storage.type_names import sql_type_name as type_name

__all__ = [
    "Begin",
    "Commit",
    "Copy",
    "CreateBvh",
    "CreateTable",
    "CreateView",
    "DropBvh",
    "DropTable",
    "DropView",
    "Explain",
    "Insert",
    "Rollback",
    "Select",
    "SetOption",
    "Statement",
    "bind_bvh",
    "bind_insert",
    "bind_select",
    "parse",
    "type_name",
]
