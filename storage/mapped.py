"""Files mapped for reading, which cost no descriptor."""

from __future__ import annotations

import os
import stat

import pyarrow as pa

from raydb.errors import OperationalError


def map_file(path: str) -> memoryview:
    """Return the bytes of a file; they stay mapped while anything refers to them.

    Python's own mmap keeps a descriptor for each map, and a process usually has 1,024 of them: a
    database of more files could not be opened. Raises OperationalError for what cannot be read.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  (a Path costs 5 us)
        if not stat.S_ISREG(mode):
            kind = "directory" if stat.S_ISDIR(mode) else "device"
            raise OperationalError(f"'{path}' is a {kind}, not a file")
        with pa.memory_map(path) as file:
            # For what a buffer spans the system is told to read ahead; its parent is the whole map.
            whole = file.read_buffer(1).parent
    except FileNotFoundError:
        raise OperationalError(f"file '{path}' does not exist") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OperationalError(f"file '{path}' cannot be read: {reason.lower()}") from None
    return memoryview(b"" if whole is None else whole).cast("B")
