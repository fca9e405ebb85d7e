"""The contract between the planner, the executor and the backends.

A fused job is Scan, GroupBy and Aggregate in one (RayDB, section 3.1). Its cell intervals are the
rays of the RT backend, the row ranges of the CPU backend, the chunks of the CUDA backend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raydb.kernels.bvh.build_input import BuildControl, Source
    from raydb.kernels.bvh.bvh import Bvh, Measure
    from raydb.kernels.vector.exact_search import Neighbours

    Located = tuple[NDArray[np.int64], NDArray[np.int64]]
    Search = Callable[..., Neighbours]

# What a zone map skips in a scan: of SSB's 6M rows in the order of the dates a month has 71,000.
CHUNK_ROWS = 2**14


@dataclass(frozen=True, eq=False, slots=True)
class CodeMap:
    """What a job makes of one hierarchy's codes: a filter, a part of the group number, or both.

    groups: int64; what a code adds to the group number, or -1 where the row is filtered out. The
        index is the code itself, or its coordinate on the Z axis where `by_cell`.
    filters: whether any entry is -1 that the intervals do not exclude already.
    """

    hierarchy: int
    by_cell: bool
    groups: NDArray[np.int64]
    filters: bool


@dataclass(frozen=True, slots=True)
class Accumulator:
    """One value a group: a function over a measure, by its position in the BVH's measures.

    count counts the rows whose measure is valid. The number of rows of each group always comes
    with the result.
    """

    function: str
    measure: int


@dataclass(frozen=True, eq=False, slots=True)
class FusedJob:
    """Which cells to read, how rows map to groups 0..group_count-1, and what to accumulate.

    intervals: int64, shape (k, 2): sorted, disjoint, half-open cell intervals.
    sieved: whether the BVH's totals of cells answer for the rows of the cells that they cover. No
        backend gets such a job: `kernels.bvh.sieve` takes it apart before.
    places: int64, shape (k, 2): sorted, disjoint, half-open ranges of places; other rows are left
        out. None for all places. Only the CPU gets a job with such.
    """

    intervals: NDArray[np.int64]
    maps: tuple[CodeMap, ...]
    group_count: int
    accumulators: tuple[Accumulator, ...]
    sieved: bool = False
    places: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class FusedResult:
    """rows: int64, shape (group_count,), the rows of each group; values: an array a accumulator.

    Sums are int64 or float64, or Python integers (dtype object) where int64 might overflow. A
    minimum or maximum of no valid row is arbitrary: its count says so.
    """

    rows: NDArray[np.int64]
    values: tuple[NDArray[Any], ...]

    @property
    def occurring(self) -> NDArray[np.int64]:
        """The groups that have rows."""
        # Of integers `nonzero` takes 4 ns a group where few have rows, of flags 0.6 ns.
        groups: NDArray[np.int64] = (self.rows != 0).nonzero()[0]
        return groups


class PreparedJob(Protocol):
    """A job on a BVH with all that its launches need, made once.

    Its groups and measures are all in the BVH.
    """

    @property
    def figures(self) -> Mapping[str, float]:
        """What EXPLAIN ANALYZE shows of the last run, by the names in `FIGURES`."""
        return {}

    def launch(self) -> FusedResult:
        """Run the job."""
        ...

    def locate(self) -> Located:
        """Return (places, groups) of the rows that pass the job's filters, both int64."""
        ...

    def accumulate(
        self,
        functions: Sequence[str],
        measures: Sequence[Measure],
        groups: NDArray[np.int64],
        group_count: int,
    ) -> FusedResult:
        """Accumulate values of rows that were located; the i-th function over the i-th measure.

        They lie on the host, which adds them up where a backend does not say otherwise.
        """
        from raydb.kernels.backends.cpu.cpu_backend import accumulate_rows  # noqa: PLC0415  (at first use)

        return accumulate_rows(functions, measures, groups, group_count)

    def ran_on(self) -> str | None:
        """Say who answered last, with figures and why others did not; None where only one could."""
        return None

    def warnings(self) -> list[str]:
        """Return what a result must say of the last run: which backends failed, who answered."""
        return []


class Backend(Protocol):
    """Where fused jobs run. Every backend gives the same answers."""

    name: str

    def build(self, source: Source, control: BuildControl) -> Bvh:
        """Sort rows by cell: the same arrays on every backend.

        Raises DataError where the cells can't be numbered, and what the control's room raises where
        the arrays do not fit.
        """
        ...

    def prepare(self, bvh: Bvh, job: FusedJob) -> PreparedJob:
        """Do once what every launch of the job needs."""
        ...


def _nothing() -> Iterator[str]:
    yield from ()


@dataclass(frozen=True, slots=True)
class Entry:
    """What the table of backends has of one; nothing of its libraries is imported before `open`.

    setting: the value of SET backend that asks for it. open: makes it; raises DeviceError where a
    library does not load. describe: a line on its devices. then: who is tried after it.
    lacks: yields each thing that it lacks on this machine, with how to get it, in a sentence that
    begins with the setting.
    open_search: returns its search of vectors. None where it has none; it builds no BVHs then.
    """

    name: str
    setting: str
    open: Callable[[], Backend]
    describe: Callable[[], str]
    then: tuple[str, ...] = ()
    lacks: Callable[[], Iterator[str]] = _nothing
    is_simulated: Callable[[], bool] = lambda: False
    open_search: Callable[[], Search] | None = None
