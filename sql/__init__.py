"""SQL text in, bound logical plan out. The only caller of sqlglot."""

from __future__ import annotations

from raydb.sql.bind_bvh import bind_bvh
from raydb.sql.bind_change import bind_delete, bind_update
from raydb.sql.bind_insert import bind_insert
from raydb.sql.bind_select import bind_select
from raydb.sql.files import file_table, files_of
from raydb.sql.parser import parse
from raydb.sql.statements import (
    Begin,
    Checkpoint,
    Commit,
    Copy,
    CopyTo,
    CreateBvh,
    CreateTable,
    CreateView,
    Delete,
    DropBvh,
    DropTable,
    DropView,
    Explain,
    Insert,
    Rollback,
    Select,
    SetOption,
    Statement,
    Update,
    Vacuum,
)
from raydb.storage.type_names import sql_type_name as type_name

__all__ = [
    "Begin",
    "Checkpoint",
    "Commit",
    "Copy",
    "CopyTo",
    "CreateBvh",
    "CreateTable",
    "CreateView",
    "Delete",
    "DropBvh",
    "DropTable",
    "DropView",
    "Explain",
    "Insert",
    "Rollback",
    "Select",
    "SetOption",
    "Statement",
    "Update",
    "Vacuum",
    "bind_bvh",
    "bind_delete",
    "bind_insert",
    "bind_select",
    "bind_update",
    "file_table",
    "files_of",
    "parse",
    "type_name",
]
