"""`raydb doctor`: which backends this machine has, whether each is right, and how fast it is.

Last it says where compiled loops are kept.

cpu   2 processors, numba 0.68.1
      no groups: 1.21 ms
cuda  cannot run
      cupy is not installed (pip install 'raydb[cuda]')
loops
      '/home/ann/.cache/raydb/loops': 212 kept, 9.1 MB
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

import raydb
from raydb.kernels import code_cache
from raydb.kernels.backends import self_check
from raydb.kernels.backends.device import DeviceError
from raydb.kernels.backends.registry import BACKENDS, look_again
from raydb.room import size_text
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.kernels.backends.backend import Entry

# Enough rows for a device to be worth asking, few enough to be made in a second.
ROWS = 2**20
# The simulator runs a row in tens of microseconds.
SIMULATED_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class BackendReport:
    """What is known of a backend: its device, what it lacks, and its checks.

    failure: why its checks could not be run; None where they were, or where it lacks something.
    """

    name: str
    device: str
    lacks: tuple[str, ...]
    checks: tuple[self_check.Checked, ...]
    failure: str | None

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong with it: a backend that is absent is not wrong."""
        return self.failure is None and all(check.agrees for check in self.checks)


def examine(row_count: int = ROWS) -> list[BackendReport]:
    """Examine every backend, with checks over so many rows."""
    look_again()
    # Those that SET backend names.
    return [_examine(entry, row_count) for name, entry in BACKENDS.items() if name == entry.setting]


def _examine(entry: Entry, row_count: int) -> BackendReport:
    name, lacks = entry.name, tuple(entry.lacks())
    if lacks:
        return BackendReport(name, "", lacks, (), None)
    if entry.is_simulated():
        row_count = min(row_count, SIMULATED_ROWS)
    try:
        checks = tuple(self_check.check_backend(name, row_count))
        return BackendReport(name, entry.describe(), (), checks, None)
    except DeviceError as error:
        return BackendReport(name, "", (), (), str(error))


def render(reports: list[BackendReport]) -> str:
    """Return the reports as lines of text."""
    lines = [
        f"raydb {raydb.__version__}, Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} processors, numba {version('numba')}"
    ]
    for report in reports:
        heading = "cannot run" if report.lacks or report.failure else report.device
        lines.append(f"{report.name:5} {heading}")
        # What it lacks is told below its name, which need not be repeated.
        lines += [f"      {text.removeprefix(f'{report.name}: ')}" for text in report.lacks]
        if report.failure is not None:
            lines.append(f"      {report.failure.removeprefix(f'{report.name}: ')}")
        for check in report.checks:
            verdict = "" if check.agrees else "  DIFFERS from the CPU's answer"
            beside = "" if report.name == "cpu" else f" (cpu {check.cpu_ms_median:.3f} ms)"
            lines.append(f"      {check.job}: {check.time_ms_median:.3f} ms{beside}{verdict}")
    return "\n".join(lines)


def render_places(places: list[code_cache.Place]) -> str:
    """Return where compiled loops are kept as lines of text."""
    lines = ["loops"]
    for place in places:
        lines.append(
            f"      '{place.path}': {place.loop_count} kept, {size_text(place.size_bytes)}"
        )
        if place.obstacle:
            lines.append(f"      it cannot be written to: {place.obstacle}")
    if places[-1].obstacle:
        lines.append(
            "      so every process compiles anew what is not kept there;"
            f" {code_cache.VARIABLE} names another folder, which 'raydb compile' fills"
        )
    return "\n".join(lines)


def main() -> int:
    """Print the reports; 1 where a backend that is there is wrong."""
    from raydb.kernels.jit import toolchain  # noqa: PLC0415  (numba takes 0.24 s)

    reports = examine()
    print(render(reports))  # noqa: T201  (a command's answer)
    print(render_places(code_cache.examine(toolchain())))  # noqa: T201  (as above)
    return 0 if all(report.is_right for report in reports) else 1
