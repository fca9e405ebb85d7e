"""Settings of other databases: what their tools set and read here."""

from __future__ import annotations

import re

# DuckDB's names of settings that it has too.
OTHER_NAMES = {
    "max_memory": "memory_limit",
    "worker_threads": "threads",
    "enable_external_access": "external_access",
    "null_order": "default_null_order",
    "statement_timeout": "max_execution_time",
    "hnsw_ef_search": "ef_search",
    "hnsw.ef_search": "ef_search",
    "ivfflat.probes": "nprobe",
}

# What tools for PostgreSQL read of its settings, which nothing here changes.
POSTGRESQL = {
    "server_version": "14.0",
    "server_version_num": "140000",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "integer_datetimes": "on",
    "datestyle": "ISO, MDY",
    "default_table_access_method": "heap",
    "transaction_isolation": "repeatable read",
    "max_identifier_length": "63",
}
_SET_BY_POSTGRESQL = "application_name|client_encoding|datestyle|extra_float_digits"

# Settings and pragmas of DuckDB's that change how it works and no answer.
_WITHOUT_EFFECT = re.compile(
    r"debug_\w+|profiling_\w+|(en|dis)able_(verification|profiling|profile|optimizer|object_cache"
    r"|progress_bar(_print)?|checkpoint_on_shutdown|logging|http_metadata_cache|caching_operators"
    r"|external_file_cache)|(disable_)?verify_\w+|explain_output|force_compression"
    r"|force_bitpacking_mode|force_checkpoint|wal_autocheckpoint(_entries)?|checkpoint_threshold"
    r"|auto_checkpoint_skip_wal_threshold|disabled_optimizers|tracked_metrics|logging_\w+"
    r"|immediate_transaction_mode|storage_compatibility_version|max_vacuum_tasks|read_ahead_depth"
    r"|index_scan_(max_count|percentage)|preserve_insertion_order|max_temp_directory_size"
    r"|(merge_join|nested_loop_join|asof_loop_join|pivot_filter|dynamic_or_filter|perfect_ht"
    r"|ordered_aggregate|partitioned_write_flush)_threshold|prefer_range_joins|delim_join_as_cte"
    r"|late_materialization_max_rows|(variant|geometry)_minimum_shredding_size"
    r"|default_transaction_invalidation_policy|force_column_metadata_reuse"
    r"|approximate_join_order_threshold|enable_(macro|view)_dependencies"
    r"|auto(load|install)_known_extensions|extension_directory|secret_directory|parquet_metadata_cache|allocator_\w+|block_allocator_memory"
    rf"|{_SET_BY_POSTGRESQL}|operator_memory_limit|lambda_syntax|progress_bar_time|arrow_large_buffer_size"
)


def owner_of(name: str) -> str | None:
    """Return the database whose setting a name is that would change no answer; None for others."""
    if _WITHOUT_EFFECT.fullmatch(name) is None:
        return None
    return "PostgreSQL" if re.fullmatch(_SET_BY_POSTGRESQL, name) else "DuckDB"
