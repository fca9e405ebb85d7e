"""Loops tell that they are compiled, and whoever hears that may end it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numba
import pytest

from raydb.engine.context.progress import report_compiling
from raydb.kernels import code_cache
from raydb.kernels.backends.cpu.threads import run_parts
from raydb.kernels.compiling import tell_of_compiling
from raydb.running import Interrupt, Interrupts, Running


def new_loops():
    """Return two loops that nobody has called, of which the second calls the first."""

    @numba.njit
    def inner(value):
        return value + 1

    @numba.njit
    def outer(value):
        return inner(value) * 2

    return inner, outer


def test_each_loop_is_told_once() -> None:
    heard: list[str] = []
    tell_of_compiling(heard.append)
    _, outer = new_loops()
    assert outer(1) == 4
    assert outer(2) == 6
    assert [name for name in heard if name in ("inner", "outer")] == ["outer", "inner"]


def test_progress_names_the_loop() -> None:
    report_compiling()
    steps: list[tuple[str, float]] = []
    with Running(listener=lambda step, share: steps.append((step, share))):
        _, outer = new_loops()
        assert outer(1) == 4
    assert ("compile, once on a machine: inner", 0.0) in steps


def test_an_interrupt_ends_a_compilation_which_can_be_begun_again() -> None:
    report_compiling()
    interrupts = Interrupts()
    inner, outer = new_loops()

    def interrupt(step: str, _: float) -> None:
        if step.endswith("outer"):
            interrupts.interrupt()

    with Running(interrupts, interrupt), pytest.raises(Interrupt):
        outer(1)
    assert not inner.signatures
    assert not outer.signatures
    assert outer(1) == 4


def test_other_threads_of_a_launch_report_to_its_statement() -> None:
    report_compiling()
    steps: list[str] = []
    loops = [new_loops()[1] for _ in range(2)]
    # Both parts are at work before either of them compiles.
    together = threading.Barrier(2)

    def run(part: int) -> int:
        together.wait(10)
        return int(loops[part](part))

    with Running(listener=lambda step, _: steps.append(step)):
        assert run_parts(run, range(2)) == [2, 4]
    assert steps.count("compile, once on a machine: outer") == 2


def test_a_thread_that_imports_numba_meanwhile_is_waited_for() -> None:
    """Else each meets modules of which only the beginning is there, and one waits for ever."""
    code = """
        import sys, threading

        inside, leave = threading.Event(), threading.Event()

        class Slow:
            def find_spec(self, name, *_):
                if name == "numba.core.types" and not inside.is_set():
                    inside.set()
                    leave.wait(0.5)

        sys.meta_path.insert(0, Slow())
        failures = []

        def begin():
            try:
                import raydb.kernels.backends.cpu.numba_loops
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=begin, daemon=True)
        thread.start()
        inside.wait()
        import raydb.kernels.compiling
        print(hasattr(sys.modules.get("numba"), "njit"))
        leave.set()
        thread.join()
        print(failures)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "True\n[]\n"), done.stderr


def test_loops_import_numba_as_a_whole_before_its_parts() -> None:
    """Two threads that meet in the middle of numba else see modules that are not there yet."""
    kernels = Path(code_cache.__file__).parent
    for path in sorted(kernels.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        parts = [number for number, line in enumerate(lines) if line.startswith("from numba")]
        whole = [number for number, line in enumerate(lines) if line.startswith("import numba")]
        if parts and "cuda" not in path.parts:
            assert whole, path
            assert whole[0] < parts[0], path
