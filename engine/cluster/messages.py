"""What coordinator and workers say to each other: JSON, and rows as Arrow's streams.

    question    one JSON object
    answer      a line of JSON, then the streams that it tells the sizes of

Nothing of it is unpickled, and nothing of it is a plan: a worker binds the text by itself.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import hashlib
import json
import re
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb import errors
from raydb.errors import DataError, InternalError, OperationalError
from raydb.kernels.stored.ipc import read_table
from raydb.planner.expressions.nodes import Literal
from raydb.planner.segments.nodes import SegmentRows, SegmentScan
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.storage.tables.parts import FilePart
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.catalog.database import Database
    from raydb.engine.catalog.store import Store
    from raydb.storage.tables.table import Table

    Parameters = Sequence[object] | Mapping[str, object]


class NotSharedError(Exception):
    """Why nothing tells what a scan reads from other versions of it."""


PROTOCOL = 6
"""The number of what is said here; only equal ones understand each other."""

# Types of parameters that are sent, by their names, and how a value comes from its text.
_KINDS: Mapping[type, tuple[str, Callable[[str], object]]] = {
    type(None): ("null", lambda _: None),
    bool: ("bool", lambda text: text == "True"),
    int: ("int", int),
    float: ("float", float),
    str: ("str", str),
    decimal.Decimal: ("decimal", decimal.Decimal),
    dt.date: ("date", dt.date.fromisoformat),
    dt.datetime: ("datetime", dt.datetime.fromisoformat),
    np.ndarray: ("array", lambda text: _array(*text.split(" "))),
    list: ("list", json.loads),
}
_DECIMAL = re.compile(r"decimal128\((\d+), (-?\d+)\)")
_READ = dict(_KINDS.values())
_WRITTEN: Mapping[type, Callable[[Any], str]] = {
    float: repr,
    dt.date: dt.date.isoformat,
    dt.datetime: dt.datetime.isoformat,
    np.ndarray: lambda it: f"{it.dtype.str} {base64.b64encode(it.tobytes()).decode()}",
    list: json.dumps,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a worker is asked: the groups of a scan in some segments.

    call: names the call, for whoever ends it. version: of the coordinator's RayDB. path: of the
    database. text, parameters, place, settings, moment: what the worker binds, in which schema,
    with which settings, and what now() is. question: the scan, see `SegmentScan`. identity: of the
    rows, see `identity_of`. commit: the newest one that the coordinator knows. bvh: the one whose
    places segments are ranges of, '' for rows. segments: each with its number, and from where to
    where it goes. is_exact: whether the groups of all segments are put together.
    """

    call: str
    version: str
    path: str
    text: str
    parameters: Any
    place: tuple[str, str]
    settings: Mapping[str, str]
    moment: str
    question: str
    identity: str
    commit: str
    bvh: str
    segments: tuple[tuple[int, int, int], ...]
    is_exact: bool
    protocol: int = PROTOCOL

    def encode(self) -> bytes:
        """Return the bytes of the question."""
        return json.dumps({name: getattr(self, name) for name in _SAID}).encode()

    @staticmethod
    def parse(data: bytes) -> Asked:
        """Return the question of some bytes; OperationalError for one of another protocol."""
        said = json.loads(data)
        if said.get("protocol") != PROTOCOL:
            raise OperationalError(
                f"the coordinator speaks protocol {said.get('protocol')}, this worker {PROTOCOL}:"
                " install one version of raydb everywhere"
            )
        said["segments"] = tuple((number, first, stop) for number, first, stop in said["segments"])
        said["place"] = tuple(said["place"])
        return Asked(**said)


_SAID = tuple(each.name for each in fields(Asked))


def encode_parameters(parameters: Parameters) -> Any | None:
    """Return parameters as JSON values, None where one has a type that is not sent."""
    if isinstance(parameters, dict):
        values = {str(name): _encode(value) for name, value in parameters.items()}
        return None if None in values.values() else values
    listed = [_encode(value) for value in parameters]
    return None if None in listed else listed


def _encode(value: object) -> list[str] | None:
    if isinstance(value, Literal):  # EXECUTE gives constants with their types.
        inner, kind = _encode(value.value), str(value.type)
        return None if inner is None or _type_of(kind) != value.type else [*inner, kind]
    known = _KINDS.get(type(value)) if _is_sent(value) else None
    return None if known is None else [known[0], _WRITTEN.get(type(value), str)(value)]


def _is_sent(value: object) -> bool:
    """Tell whether a list or an array is one of numbers."""
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "iuf"
    return not isinstance(value, list) or {type(each) for each in value} <= {int, float}


def _array(kind: str, text: str) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text), np.dtype(kind))


def decode_parameters(said: Any) -> Parameters:
    """Return the parameters of `encode_parameters`."""
    if isinstance(said, dict):
        return {name: _decode(*value) for name, value in said.items()}
    return [_decode(*value) for value in said]


def _decode(kind: str, text: str, literal: str = "") -> object:
    value: Any = _READ[kind](text)
    if not literal:
        return value
    type_ = _type_of(literal)
    if type_ is None:
        raise DataError(f"a parameter is of '{literal}', which is no type")
    return Literal(value, type_)


def _type_of(name: str) -> pa.DataType | None:
    """Return the type that Arrow calls so, None where it is none that is sent."""
    found = _DECIMAL.fullmatch(name)
    if found is not None:
        return pa.decimal128(int(found[1]), int(found[2]))
    try:
        return pa.type_for_alias(name)
    except ValueError:
        return None


def store_of(database: Database) -> Store:
    """Return where a database that workers read is stored."""
    store = database.shared.store
    assert store is not None, "a database in memory has no workers"
    return store


def identity_of(scan: SegmentScan | SegmentRows, tables: Mapping[str, Table], store: Store) -> str:
    """Return what tells the rows that a scan reads from those of all other versions of them.

    Files have random names and never change. Rows that are in no file yet are records of the log,
    which coordinator and worker have in one order; each makes a new version of the table. Which
    rows of a BVH are gone is what its table says. Raises NotSharedError for a BVH without a file.
    """
    found: list[Any] = []
    job = scan.scan if isinstance(scan, SegmentScan) else None
    if isinstance(job, FusedScanAggregate):
        file = store.file_of(job.index)
        if file is None:
            raise NotSharedError(f"BVH '{job.bvh}' is not in a file yet")
        dead = 0 if job.index.dead is None else len(job.index.dead)
        found.append([job.bvh, file, job.index.row_count, dead])
    for name in sorted(set(scan.tables)):
        table = tables[name]
        files = [
            [part.name, part.row_count] for part in table.rows.parts if isinstance(part, FilePart)
        ]
        schema = str(table.definition.schema)
        found.append([name, table.version, table.row_count, table.live is None, schema, files])
    # A digest, for there may be thousands of files.
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


# -- answers


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker has said: groups by the numbers of the first of their segments.

    declined: why it does not answer, '' where it does. ms: how long it took there. warnings: what
    it has to tell beside. traffic: what it has asked of object stores, as `Traffic` counts it.
    """

    groups: Mapping[int, pa.Table]
    ms: float = 0.0
    declined: str = ""
    warnings: Sequence[str] = ()
    traffic: Mapping[str, int] = field(default_factory=dict)


# What is said of an answer beside its groups.
_TOLD = ("ms", "warnings", "traffic")


def encode_answer(answer: Answer) -> bytes:
    """Return an answer's bytes."""
    streams = []
    for rows in answer.groups.values():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        streams.append(sink.getvalue())
    sizes = [[number, each.size] for number, each in zip(answer.groups, streams, strict=True)]
    told = {each: getattr(answer, each) for each in _TOLD}
    said = {"groups": sizes, **told}
    return b"".join([json.dumps(said).encode(), b"\n", *streams])


def encode_refusal(reason: str) -> bytes:
    """Return the answer of a worker that cannot answer, though nothing is wrong."""
    return json.dumps({"declined": reason}).encode() + b"\n"


def _error_called(name: str) -> type[errors.Error] | None:
    """Return the exception of PEP 249 of a name, None where there is none."""
    kind = getattr(errors, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, errors.Error) else None


def encode_error(error: BaseException) -> bytes:
    """Return the answer of a worker that met an error."""
    names = [kind.__name__ for kind in type(error).__mro__ if _error_called(kind.__name__)]
    name = names[0] if names else "InternalError"
    text = error.sentence if isinstance(error, errors.Error) else f"{type(error).__name__}: {error}"
    return json.dumps({"error": [name, text]}).encode() + b"\n"


def decode_answer(data: bytes, worker: str) -> Answer:
    """Return what a worker has said; raises the error that it met."""
    line, _, rest = data.partition(b"\n")
    said = json.loads(line)
    if "error" in said:
        name, text = said["error"]
        raise (_error_called(name) or InternalError)(text)
    if "declined" in said:
        return Answer({}, declined=said["declined"])
    groups, start = {}, 0
    for number, size in said["groups"]:
        table = read_table(memoryview(rest)[start : start + size])
        if table is None or start + size > len(rest):
            raise OperationalError(f"worker {worker} has sent rows that cannot be read")
        groups[number], start = table, start + size
    return Answer(groups, **{each: said[each] for each in _TOLD})
