"""RayDB on a cluster: the star in a database on disk, whose lines workers scan in segments.

It has no BVHs: what a BVH answers is another measurement.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import raydb
from raydb.ssb.run import fill, find_fused

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.ssb.check import Row
    from raydb.ssb.flat import FlatTable
    from raydb.ssb.rivals import Ask
    from raydb.ssb.workload import Query


class OnCluster:
    """A database beside the data set, and a connection to it that has workers.

    cluster: as `raydb.connect` takes it; segments: into how many the lines are cut.
    """

    def __init__(self, cluster: str, segments: int) -> None:
        self.version: str = raydb.__version__
        self.build_s: float | None = None
        self._cluster, self._segments = cluster, segments
        self._segment_rows = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._connection: Any = None

    @property
    def path(self) -> Path:
        """The database."""
        assert self._folder is not None, "it is loaded"
        return Path(self._folder.name) / "ssb.raydb"

    def load(self, flat: FlatTable, advance: Callable[[], None]) -> None:
        """Load the tables of the flat table's data set; `advance` is called after each batch."""
        # Beside the data, for workers of other machines have to see it.
        self._folder = tempfile.TemporaryDirectory(prefix="cluster-", dir=flat.folder.parent)
        with raydb.connect(self.path) as connection:
            fill(connection, flat.folder)
        self._segment_rows = -(-flat.row_count // self._segments)
        for _ in range(flat.batch_count):
            advance()

    def connect(self) -> None:
        """Have workers; raises OperationalError where there are none."""
        if self._connection is None:
            self._connection = raydb.connect(
                self.path,
                read_only=True,
                cluster=self._cluster,
                config={"segment_rows": self._segment_rows},
            )

    def prepare(self, query: Query) -> Ask:
        """Return what asks the star text once."""
        return self.asking(query.star)

    def asking(self, text: str) -> Ask:
        """Return what asks a text once, to its rows; OperationalError where workers do not scan."""
        self.connect()

        def ask() -> list[Row]:
            cursor = self._connection.execute(text)
            if cursor.messages:
                raise raydb.OperationalError(str(cursor.messages[0][1]))
            return list(cursor.fetchall())

        return ask

    def segments_of(self, text: str) -> int | None:
        """Return in how many segments workers scan for a query, None where they do not."""
        ((explained, *_),) = self._connection.execute(f"EXPLAIN (FORMAT JSON) {text}").fetchall()
        node = find_fused(json.loads(explained), ("SegmentScan",))
        return None if node is None else int(node["segments"])

    def worker_count(self) -> int:
        """Return how many workers there are."""
        ((count,),) = self._connection.execute("SELECT count(*) FROM workers()").fetchall()
        return int(count)

    def close(self) -> None:
        """End the workers that are the connection's own, and remove the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
