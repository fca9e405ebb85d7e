"""Types of CREATE TYPE as JSON values in the manifest, and back."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.kernels.stored.described import Described


def describe_types(types: Mapping[str, pa.DataType]) -> dict[str, str]:
    """Return types as JSON values, by name."""
    return {name: base64.b64encode(_schema(kind)).decode() for name, kind in types.items()}


def _schema(kind: pa.DataType) -> bytes:
    said: bytes = pa.schema([("", kind)]).serialize().to_pybytes()
    return said


def load_types(state: Described) -> dict[str, pa.DataType]:
    """Return the types of a state, none of one before there were any."""
    found = state.find("types")
    return {} if found is None else {name: _load(said) for name, said in found.entries().items()}


def _load(said: Described) -> pa.DataType:
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(said.text(), validate=True)))
        (field,) = schema
    except (pa.ArrowException, ValueError, OSError, EOFError) as error:
        raise said.fault(f"a type ({error})") from error
    return field.type
