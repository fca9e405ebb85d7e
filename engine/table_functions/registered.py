"""The table functions that RayDB has, each registered here by one line."""

from __future__ import annotations

from raydb.engine.table_functions.advice.advise_bvh import AdviseBvh
from raydb.engine.table_functions.advice.advise_keys import AdviseKeys
from raydb.engine.table_functions.bvhs import Bvhs
from raydb.engine.table_functions.catalog_functions import CATALOG_FUNCTIONS
from raydb.engine.table_functions.file_contents import FILE_CONTENTS
from raydb.engine.table_functions.functions import BoundFunction, Functions, Indexes, Sequences
from raydb.engine.table_functions.graph.partition_function import PARTITION_FUNCTIONS
from raydb.engine.table_functions.information_schema import INFORMATION_SCHEMA
from raydb.engine.table_functions.motif.motif_function import MOTIF_FUNCTIONS
from raydb.engine.table_functions.repeated_rows import Repeat
from raydb.engine.table_functions.secret_functions import SECRET_FUNCTIONS
from raydb.engine.table_functions.series import SeriesFunction
from raydb.engine.table_functions.states.states_function import STATES_FUNCTIONS
from raydb.engine.table_functions.summary import SummarizeFunction
from raydb.engine.table_functions.text.text_function import TextFunction
from raydb.engine.table_functions.text.text_indexes import TextIndexes
from raydb.engine.table_functions.vector.index_calibrations import IndexCalibrations
from raydb.engine.table_functions.vector.vector_function import VectorFunction
from raydb.engine.table_functions.vector.vector_indexes import VectorIndexes
from raydb.engine.table_functions.workers import Workers
from raydb.planner.expressions.functions.nested.json_rows import ROWS_OF_JSON
from raydb.planner.plan.table_function import TABLE_FUNCTIONS, register
from raydb.sql.bind.table_functions.file_functions import FILE_FUNCTIONS

__all__ = ["TABLE_FUNCTIONS"]

for _function in (
    AdviseBvh(),
    AdviseKeys(),
    *map(BoundFunction, ("unnest", *ROWS_OF_JSON)),
    Bvhs(),
    *CATALOG_FUNCTIONS,
    *FILE_CONTENTS,
    *FILE_FUNCTIONS,
    Functions(),
    IndexCalibrations(),
    Indexes(),
    *INFORMATION_SCHEMA,
    *MOTIF_FUNCTIONS,
    *PARTITION_FUNCTIONS,
    Repeat(),
    *SECRET_FUNCTIONS,
    Sequences(),
    SeriesFunction("generate_series", includes_stop=True),
    SeriesFunction("range", includes_stop=False),
    *STATES_FUNCTIONS,
    SummarizeFunction(),
    TextFunction(),
    TextIndexes(),
    VectorFunction(),
    VectorIndexes(),
    Workers(),
):
    register(_function)
