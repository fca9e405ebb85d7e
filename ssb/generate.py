"""Data sets on disk: the benchmark's tables in a folder, written all or nothing and used again.

    folder/date.parquet ... lineorder.parquet, manifest.json

A folder is written beside its final place as `<name>.partial-<pid>`, its files are flushed to the
disk, the manifest comes last, and one rename puts it in place. So a folder with a manifest is
complete; anything else is what a killed process left behind.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

import raydb
from raydb.ssb import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from raydb.ssb.progress import Progress

FileFormat: TypeAlias = Literal["tbl", "parquet"]

_MANIFEST: Final = "manifest.json"
# Raised whenever the same arguments would give other rows or other files.
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class DataSet:
    """What a folder is asked to hold."""

    scale_factor: float
    seed: int = rules.DEFAULT_SEED
    file_format: FileFormat = "parquet"

    def __post_init__(self) -> None:
        """Raise ProgrammingError for a bad scale factor or seed."""
        rules.check_scale_factor(self.scale_factor)
        rules.check_seed(self.seed)

    @property
    def folder_name(self) -> str:
        """The name of its folder among other data sets, such as 'sf0.1-seed1'."""
        return f"sf{float(self.scale_factor)!r}".removesuffix(".0") + f"-seed{self.seed}"

    def file_name(self, table: str) -> str:
        """The name of the table's file."""
        return f"{table}.{self.file_format}"


def prepare(
    folder: Path, data: DataSet, progress: Progress, *, replace_unmarked: bool = False
) -> None:
    """Make `folder` hold the data set: reuse it where it does already, else write it.

    A folder with the manifest of another data set, or whose files have other sizes than their
    manifest says, is written anew. One without a manifest is replaced only with
    `replace_unmarked`, since its files may be someone else's. Raises OperationalError where the
    folder holds files that are not the benchmark's or cannot be written.
    """
    try:
        _prepare(folder.resolve(), data, progress, replace_unmarked=replace_unmarked)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise raydb.OperationalError(f"cannot write '{folder}': {reason}") from error


def _prepare(folder: Path, data: DataSet, progress: Progress, *, replace_unmarked: bool) -> None:
    _remove_leftovers(folder)
    fault = _fault(folder, data)
    if fault is None:
        progress.say(f"reusing {folder}")
        return
    if folder.exists():
        _refuse_foreign(folder, replace_unmarked=replace_unmarked)
        if any(folder.iterdir()):
            progress.say(f"rebuilding {folder}: {fault}")
    partial = folder.with_name(f"{folder.name}.partial-{os.getpid()}")
    try:
        partial.mkdir(parents=True)
        _write_tables(partial, data, progress)
        _put_in_place(partial, folder, data)
    finally:
        # Gone after the rename; still there after an error or Ctrl-C.
        shutil.rmtree(partial, ignore_errors=True)


def _write_tables(folder: Path, data: DataSet, progress: Progress) -> None:
    """Write all files, the manifest last, and flush each to the disk."""
    blocks = sum(rules.block_count(table, data.scale_factor) for table in rules.TABLES)
    files: dict[str, dict[str, int]] = {}
    with progress.step(f"generate SF {data.scale_factor:g}", blocks) as advance:
        for table in rules.TABLES:
            path = folder / data.file_name(table)
            row_count = _write_table(path, table, data, advance)
            files[path.name] = {"row_count": row_count, "size_bytes": path.stat().st_size}
    manifest = _header(data) | {"files": files}
    path = folder / _MANIFEST
    path.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    _flush(path)
    _flush(folder)


def _write_table(path: Path, table: str, data: DataSet, advance: Callable[[], None]) -> int:
    row_count = 0
    batches = rules.table_blocks(table, data.scale_factor, data.seed)
    first = next(batches)
    writing = _tbl_writer if data.file_format == "tbl" else _parquet_writer
    with writing(path, first.schema) as write:
        for batch in itertools.chain((first,), batches):
            write(batch)
            row_count += batch.num_rows
            advance()
    _flush(path)
    return row_count


@contextlib.contextmanager
def _parquet_writer(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Write a row group a block. Dictionaries only where the values repeat.

    The Arrow schema is left out, so that a reader sees plain strings and not our dictionaries.
    """
    repeating = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    with pq.ParquetWriter(
        path, schema, compression="zstd", use_dictionary=repeating, store_schema=False
    ) as writer:
        yield writer.write_batch


@contextlib.contextmanager
def _tbl_writer(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Write lines as the official program does: fields end with '|', nothing is quoted."""
    plain = [
        pa.field(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type)
        for field in schema
    ]
    # An empty last column makes the '|' at the end of the line.
    target = pa.schema([*plain, pa.field("", pa.string())])
    options = pc_csv.WriteOptions(include_header=False, delimiter="|", quoting_style="none")

    with pc_csv.CSVWriter(path, target, write_options=options) as writer:

        def write(batch: pa.RecordBatch) -> None:
            columns = [
                column.cast(field.type) for column, field in zip(batch.columns, plain, strict=True)
            ]
            ends = pa.repeat("", batch.num_rows)
            writer.write_batch(pa.RecordBatch.from_arrays([*columns, ends], schema=target))

        yield write


def _header(data: DataSet) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "scale_factor": float(data.scale_factor),
        "seed": data.seed,
        "format": data.file_format,
    }


def _fault(folder: Path, data: DataSet) -> str | None:
    """Return why the folder does not hold the data set, or None where it does."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        header = {name: manifest[name] for name in _header(data)}
        sizes = {name: entry["size_bytes"] for name, entry in manifest["files"].items()}
    except (FileNotFoundError, NotADirectoryError):
        return "it has no manifest"
    except (ValueError, TypeError, KeyError, AttributeError):
        return "its manifest is damaged"
    if header != _header(data):
        return "it holds other data"
    if set(sizes) != {data.file_name(table) for table in rules.TABLES}:
        return "its manifest is damaged"
    for name, size_bytes in sizes.items():
        path = folder / name
        found = path.stat().st_size if path.is_file() else None
        if found != size_bytes:
            return f"{name} should have {size_bytes} bytes but " + (
                "is missing" if found is None else f"has {found}"
            )
    return None


def _refuse_foreign(folder: Path, *, replace_unmarked: bool) -> None:
    """Raise OperationalError unless everything in the folder is the benchmark's own."""
    if not folder.is_dir():
        raise raydb.OperationalError(f"'{folder}' is not a folder")
    names = {path.name for path in folder.iterdir()}
    ours = {f"{table}.{ending}" for table in rules.TABLES for ending in ("tbl", "parquet")}
    foreign = sorted(names - ours - {_MANIFEST})
    if foreign:
        raise raydb.OperationalError(
            f"folder '{folder}' holds '{foreign[0]}', which is not the benchmark's; "
            "choose another folder"
        )
    if names and _MANIFEST not in names and not replace_unmarked:
        raise raydb.OperationalError(
            f"folder '{folder}' holds '{min(names)}' but no manifest, so it may not be ours to "
            "replace; choose another folder"
        )


def _put_in_place(partial: Path, folder: Path, data: DataSet) -> None:
    """Rename the finished folder; that what it replaces is ours has been checked before."""
    if _fault(folder, data) is None:
        return  # Another process was faster, and may be reading already.
    if folder.exists():
        shutil.rmtree(folder)
    partial.rename(folder)
    _flush(folder.parent)


def _remove_leftovers(folder: Path) -> None:
    """Remove the partial folders of processes that no longer run.

    One with our own id is of an earlier process: in a container the ids start again.
    """
    prefix = f"{folder.name}.partial-"
    found = folder.parent.iterdir() if folder.parent.is_dir() else ()
    for path in [path for path in found if path.name.startswith(prefix)]:
        pid = path.name.removeprefix(prefix)
        if pid.isdecimal() and (int(pid) == os.getpid() or not _runs(int(pid))):
            shutil.rmtree(path, ignore_errors=True)


def _runs(pid: int) -> bool:
    """Return whether a process has this id. Only POSIX can ask; elsewhere the answer is yes."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    if path.is_dir() and sys.platform == "win32":
        return  # Windows has no handle on a folder to flush.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
