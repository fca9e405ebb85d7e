"""`raydb.sql("SELECT 1")` runs a text on the connection of the process; see `Connection.sql`.

The package is the layer from SQL text to bound logical plans, the only caller of sqlglot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.late import import_on_use
from raydb.sql.called import make_callable

# At once, for `raydb.sql.parse` is also the package that it is from.
from raydb.sql.parse.parser import parse as parse

if TYPE_CHECKING:
    from raydb.sql.bind.query.query import bind_at_once as bind_at_once
    from raydb.sql.bind.query.query import bind_select as bind_select
    from raydb.sql.bind.statements.calibrate_index import bind_sample as bind_sample
    from raydb.sql.bind.statements.constraint import bind_check as bind_check
    from raydb.sql.bind.statements.constraint import bind_conversion as bind_conversion
    from raydb.sql.bind.statements.constraint import bind_default as bind_default
    from raydb.sql.bind.statements.constraint import check_texts as check_texts
    from raydb.sql.bind.statements.constraint import row_columns as row_columns
    from raydb.sql.bind.statements.create_bvh import BvhNames as BvhNames
    from raydb.sql.bind.statements.create_bvh import bind_bvh as bind_bvh
    from raydb.sql.bind.statements.create_bvh import bvh_text as bvh_text
    from raydb.sql.bind.statements.describe import bind_describe as bind_describe
    from raydb.sql.bind.statements.describe import bind_show_tables as bind_show_tables
    from raydb.sql.bind.statements.execute import bind_arguments as bind_arguments
    from raydb.sql.bind.statements.execute import bind_secret as bind_secret
    from raydb.sql.bind.statements.explain_change import Changed as Changed
    from raydb.sql.bind.statements.explain_change import describe_change as describe_change
    from raydb.sql.bind.statements.generated import generated_value as generated_value
    from raydb.sql.bind.statements.generated import is_lasting as is_lasting
    from raydb.sql.bind.statements.generated import typed_generated as typed_generated
    from raydb.sql.bind.statements.insert import bind_insert as bind_insert
    from raydb.sql.bind.statements.merge import bind_merge as bind_merge
    from raydb.sql.bind.statements.runs import MATCHED_ROWS as MATCHED_ROWS
    from raydb.sql.bind.statements.runs import bind_runs as bind_runs
    from raydb.sql.bind.statements.runs import may_run_at_once as may_run_at_once
    from raydb.sql.bind.statements.runs import parameters_of as parameters_of
    from raydb.sql.bind.statements.update_delete import bind_delete as bind_delete
    from raydb.sql.bind.statements.update_delete import bind_update as bind_update
    from raydb.sql.bind.statements.upsert import Conflict as Conflict
    from raydb.sql.bind.statements.upsert import bind_conflict as bind_conflict
    from raydb.sql.bind.statements.upsert import bind_upsert as bind_upsert
    from raydb.sql.bind.table_functions.opened_tables import files_of as files_of
    from raydb.sql.bind.table_functions.opened_tables import names_in as names_in
    from raydb.sql.bind.table_functions.opened_tables import opened_calls as opened_calls
    from raydb.sql.bind.table_functions.opened_tables import sources_in as sources_in
    from raydb.sql.bind.table_functions.opened_tables import tables_in as tables_in
    from raydb.sql.bind.table_functions.opened_tables import tables_named as tables_named
    from raydb.sql.macros import expand_macros as expand_macros
    from raydb.sql.macros import macro_key as macro_key
    from raydb.sql.parse.nodes import refuse_deep_nesting as refuse_deep_nesting
    from raydb.sql.parse.nodes import unlink as unlink
    from raydb.sql.parse.parser import each_statement as each_statement
    from raydb.sql.parse.reader import locate_name as locate_name
    from raydb.sql.parse.schema_names import unknown_database as unknown_database
    from raydb.sql.parse.schema_names import unknown_qualifier as unknown_qualifier
    from raydb.sql.parse.schema_names import unknown_schema as unknown_schema
    from raydb.sql.parse.statements.macro import macro_of as macro_of
    from raydb.sql.parse.stored_expressions import nextval_text as nextval_text
    from raydb.sql.parse.stored_expressions import renamed_columns as renamed_columns
    from raydb.sql.parse.stored_expressions import renamed_sequence as renamed_sequence
    from raydb.sql.parse.stored_expressions import sequences_of as sequences_of
    from raydb.sql.parse.stored_expressions import types_named as types_named
    from raydb.sql.parse.written import text_of as text_of
    from raydb.sql.pivot_values import asks_values as asks_values
    from raydb.sql.pivot_values import with_values as with_values
    from raydb.sql.template.folded_values import fold_values as fold_values
    from raydb.sql.template.parameter_rows import PARAMETER_ROWS as PARAMETER_ROWS
    from raydb.sql.template.parameter_rows import ParameterRows as ParameterRows
    from raydb.sql.template.parameter_rows import assigned_values as assigned_values
    from raydb.sql.template.parameters import bind_values as bind_values
    from raydb.sql.template.shape import Shape as Shape
    from raydb.sql.template.shape import shape_of as shape_of
    from raydb.sql.template.template import Filled as Filled
    from raydb.sql.template.template import Filling as Filling
    from raydb.sql.template.template import OpenPlan as OpenPlan
    from raydb.sql.template.template import Template as Template
    from raydb.sql.template.template import bind_template as bind_template
    from raydb.sql.types import is_type_name as is_type_name
    from raydb.sql.types import resolved as resolved
    from raydb.sql.types import resolved_definition as resolved_definition
    from raydb.sql.types import resolved_field as resolved_field

# The same by their files.
_PLACES = {
    "bind.query.query": "bind_at_once bind_select",
    "bind.statements.calibrate_index": "bind_sample",
    "bind.statements.constraint": (
        "bind_check bind_conversion bind_default check_texts row_columns"
    ),
    "bind.statements.create_bvh": "BvhNames bind_bvh bvh_text",
    "bind.statements.describe": "bind_describe bind_show_tables",
    "bind.statements.execute": "bind_arguments bind_secret",
    "bind.statements.explain_change": "Changed describe_change",
    "bind.statements.generated": "generated_value is_lasting typed_generated",
    "bind.statements.insert": "bind_insert",
    "bind.statements.merge": "bind_merge",
    "bind.statements.runs": "MATCHED_ROWS bind_runs may_run_at_once parameters_of",
    "bind.statements.update_delete": "bind_delete bind_update",
    "bind.statements.upsert": "Conflict bind_conflict bind_upsert",
    "bind.table_functions.opened_tables": (
        "files_of names_in opened_calls sources_in tables_in tables_named"
    ),
    "macros": "expand_macros macro_key",
    "parse.nodes": "refuse_deep_nesting unlink",
    "parse.parser": "each_statement",
    "parse.reader": "locate_name",
    "parse.schema_names": "unknown_database unknown_qualifier unknown_schema",
    "parse.statements.macro": "macro_of",
    "parse.stored_expressions": (
        "nextval_text renamed_columns renamed_sequence sequences_of types_named"
    ),
    "parse.written": "text_of",
    "pivot_values": "asks_values with_values",
    "template.folded_values": "fold_values",
    "template.parameter_rows": "PARAMETER_ROWS ParameterRows assigned_values",
    "template.parameters": "bind_values",
    "template.shape": "Shape shape_of",
    "template.template": "Filled Filling OpenPlan Template bind_template",
    "types": "is_type_name resolved resolved_definition resolved_field",
}

import_on_use(__name__, _PLACES)
make_callable(__name__)
