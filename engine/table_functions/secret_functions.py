"""secrets() and which_secret(): what a connection knows of object stores, without any value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.plan.function_arguments import NAME, Argument
from raydb.planner.plan.table_function import OpenedFunction
from raydb.storage.objects.secret_options import secret_of

if TYPE_CHECKING:
    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.remote import Secret

# Options whose values are no secret.
_SHOWN = ("endpoint", "profile", "region", "requester_pays", "url_style", "use_ssl")
_TYPES = {"gs": "gcs", "az": "azure"}
_LISTED = pa.schema(
    {
        "name": pa.string(),
        "type": pa.string(),
        "provider": pa.string(),
        "persistent": pa.bool_(),
        "storage": pa.string(),
        "scope": pa.list_(pa.string()),
        "secret_string": pa.string(),
    }
)
_FOUND = pa.schema({"name": pa.string(), "persistent": pa.bool_(), "storage": pa.string()})


class Secrets(OpenedFunction):
    """secrets(): one row a secret; DuckDB's name of it is duckdb_secrets()."""

    def __init__(self, name: str) -> None:
        self.name = name

    def open(self, call: FunctionCall, context: StatementContext) -> pa.Table:
        rows = [
            {
                "name": each.name,
                "type": _TYPES.get(each.kind, each.kind),
                "provider": dict(each.options)["provider"],
                "persistent": False,
                "storage": "memory",
                "scope": list(each.scopes),
                "secret_string": _redacted(each),
            }
            for each in context.settings.access.secrets
        ]
        return pa.Table.from_pylist(rows, _LISTED)


class WhichSecret(OpenedFunction):
    """which_secret(url, type): the secret that a URL is reached with, if any."""

    name = "which_secret"
    arguments = (Argument("url", NAME, is_required=True), Argument("type", NAME))
    is_positional = True
    usage = "a URL, and the type of a secret"

    def open(self, call: FunctionCall, context: StatementContext) -> pa.Table:
        found = secret_of(call.value("url"), context.settings.access.secrets)
        names = [] if found is None else [found.name]
        rows = [{"name": name, "persistent": False, "storage": "memory"} for name in names]
        return pa.Table.from_pylist(rows, _FOUND)


def _redacted(secret: Secret) -> str:
    return ";".join(
        f"{name}={value if name in _SHOWN else 'redacted'}"
        for name, value in sorted(secret.options)
        if name != "provider"
    )


SECRET_FUNCTIONS = (Secrets("secrets"), Secrets("duckdb_secrets"), WhichSecret())
