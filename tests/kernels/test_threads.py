"""The threads that a launch hands its parts to."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from raydb.kernels.backends.cpu import threads


@pytest.fixture(autouse=True)
def three_processors(monkeypatch):
    monkeypatch.setattr(threads, "processor_count", lambda: 3)


def test_results_come_in_the_order_of_the_parts():
    def run(part):
        time.sleep(0.01 * (3 - part))
        return part, threading.current_thread().name

    results = threads.run_parts(run, range(3))
    assert [part for part, _ in results] == [0, 1, 2]
    assert results[0][1] == threading.current_thread().name
    assert results[1][1] == "raydb worker"


def test_the_first_error_of_a_part_is_raised_and_threads_live_on():
    def run(part):
        if part:
            raise ValueError(f"part {part}")
        return part

    with pytest.raises(ValueError, match="part 1"):
        threads.run_parts(run, range(3))
    assert threads.run_parts(lambda part: part * 2, range(3)) == [0, 2, 4]


def test_launches_at_once_share_the_threads(monkeypatch):
    """Eight launches of three parts each: nobody waits for ever, and no thread is made too many."""
    monkeypatch.setattr(threads, "_workers", [])  # other tests have had more processors
    found = []

    def launch(number):
        found.extend(threads.run_parts(lambda part: (number, part), range(3)) for _ in range(50))

    callers = [threading.Thread(target=launch, args=(number,)) for number in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=60)
        assert not caller.is_alive()
    assert len(found) == 400
    assert all(len({number for number, _ in parts}) == 1 for parts in found)
    assert all([part for _, part in parts] == [0, 1, 2] for parts in found)
    assert len(threads._workers) <= 2


def test_a_launch_within_a_part_does_its_parts_itself():
    def outer(part):
        return threads.run_parts(lambda inner: (part, inner), range(3))

    assert threads.run_parts(outer, range(3)) == [[(p, i) for i in range(3)] for p in range(3)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_makes_threads_of_its_own():
    code = """
        import os, threading
        from raydb.kernels.backends.cpu import threads
        threads.processor_count = lambda: 2
        assert threads.run_parts(lambda part: part, range(2)) == [0, 1]
        child = os.fork()
        if child == 0:
            names = threads.run_parts(lambda part: threading.current_thread().name, range(2))
            os._exit(0 if names[1] == "raydb worker" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_process_ends_while_a_part_starts_a_launch():
    """A thread that has ended gets no part, which would never be done."""
    code = """
        import threading, time
        from raydb.kernels.backends.cpu import threads
        threads.processor_count = lambda: 3
        threads.run_parts(lambda part: time.sleep(0.1), range(3))
        first, second = threads._workers
        threads._idle[:] = first, second

        def work():
            first.thread.join()
            print(threads.run_parts(lambda part: part, range(3)), flush=True)

        assert threads._give(work)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "[0, 1, 2]\n"), done.stderr


def test_without_a_thread_a_launch_does_its_parts_itself(monkeypatch):
    def start(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_workers", [])
    monkeypatch.setattr(threads, "_idle", [])
    monkeypatch.setattr(threading.Thread, "start", start)
    assert threads.run_parts(lambda part: part, range(3)) == [0, 1, 2]
