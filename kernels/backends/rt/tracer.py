"""The protocol of a tracer of rays, which is OptiX on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from raydb.kernels.backends.device_totals import Totals
    from raydb.kernels.backends.rt.rays import Rays
    from raydb.kernels.backends.rt.scene import Scene


@dataclass(frozen=True, eq=False, slots=True)
class Traced:
    """What a launch gave: rows and the words of each total (int64, shape (group_count,)).

    Of a launch that lists rows, `rows` are each scene row's group or -1, and there are no words.
    hit_count: triangles met, each as often as it was. device_ms: by the device's own clock.
    ray_count: set by who planned the rays.
    """

    rows: NDArray[np.int64]
    words: list[NDArray[np.int64]]
    hit_count: int
    device_ms: float
    ray_count: int = 0


class Tracer(Protocol):
    """Traces rays through scenes, and does at every hit what a job asks for."""

    @property
    def core_version(self) -> int:
        """The version of the RT cores times ten; 0 on a chip without them."""

    def current(self) -> AbstractContextManager[None]:
        """Make its device the current one of this thread, which all calls below ask for."""

    def free_bytes(self) -> int:
        """Return how many bytes of the device are free."""

    def load(self, scene: Scene) -> Any:
        """Send a scene to the device and build its acceleration structure."""

    def upload(self, values: NDArray[Any]) -> Any:
        """Send a column to the device, in the order of the scene's rows."""

    def send(self, rays: Rays) -> Any:
        """Send the rays of a job to the device, for a launch or several."""

    def accumulate(
        self, loaded: Any, sent: Any, inputs: Sequence[Any], totals: Totals, group_count: int
    ) -> Traced:
        """Trace rays; add the rows of every bucket that is met to the totals of its group."""

    def list_rows(self, loaded: Any, sent: Any) -> Traced:
        """Trace rays; return each scene row's group or -1 as the rows."""
