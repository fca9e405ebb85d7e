"""SQL text in, bound logical plan out. The only caller of sqlglot."""

from __future__ import annotations

from raydb.sql.bind.query.query import bind_at_once, bind_select
from raydb.sql.bind.statements.calibrate_index import bind_sample
from raydb.sql.bind.statements.constraint import (
    bind_check,
    bind_conversion,
    bind_default,
    check_texts,
    table_columns,
)
from raydb.sql.bind.statements.create_bvh import attribute_text, bind_bvh, bvh_text, measure_text
from raydb.sql.bind.statements.describe import bind_describe, bind_show_tables
from raydb.sql.bind.statements.execute import bind_arguments
from raydb.sql.bind.statements.explain_change import Changed, describe_change
from raydb.sql.bind.statements.insert import bind_insert
from raydb.sql.bind.statements.update_delete import bind_delete, bind_update
from raydb.sql.bind.statements.upsert import Conflict, bind_conflict, bind_upsert
from raydb.sql.bind.table_functions.files_read import files_of, tables_named
from raydb.sql.bind.table_functions.motif_question import question_of_row
from raydb.sql.bind.table_functions.registry import TABLE_FUNCTIONS
from raydb.sql.bind.table_functions.reports import (
    AdviceRequest,
    BvhList,
    CalibrationList,
    Report,
    VectorIndexList,
    reports_of,
)
from raydb.sql.parse.nodes import refuse_deep_nesting
from raydb.sql.parse.parser import each_statement, parse
from raydb.sql.parse.reader import locate_name
from raydb.sql.parse.stored_expressions import renamed_check
from raydb.sql.template.template import Shape, Template, bind_template, shape_of
from raydb.storage.type_names import sql_type_name as type_name

__all__ = [
    "TABLE_FUNCTIONS",
    "AdviceRequest",
    "BvhList",
    "CalibrationList",
    "Changed",
    "Conflict",
    "Report",
    "Shape",
    "Template",
    "VectorIndexList",
    "attribute_text",
    "bind_arguments",
    "bind_at_once",
    "bind_bvh",
    "bind_check",
    "bind_conflict",
    "bind_conversion",
    "bind_default",
    "bind_delete",
    "bind_describe",
    "bind_insert",
    "bind_sample",
    "bind_select",
    "bind_show_tables",
    "bind_template",
    "bind_update",
    "bind_upsert",
    "bvh_text",
    "check_texts",
    "describe_change",
    "each_statement",
    "files_of",
    "locate_name",
    "measure_text",
    "parse",
    "question_of_row",
    "refuse_deep_nesting",
    "renamed_check",
    "reports_of",
    "shape_of",
    "table_columns",
    "tables_named",
    "type_name",
]
