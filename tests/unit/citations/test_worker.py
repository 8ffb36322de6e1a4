"""The background thread: order, waiting, bounds, and what it keeps alive."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from functools import partial

import pytest

from hebbgraph.citations import worker as module
from hebbgraph.citations.worker import Worker


class Jobs:
    """Notes the jobs done; waits at a gate first."""

    def __init__(self, *, open: bool = True) -> None:
        self.gate = threading.Event()
        self.done: list[int] = []
        if open:
            self.gate.set()

    def put(self, worker: Worker, *numbers: int) -> None:
        for number in numbers:
            worker.put(partial(self._do, number))

    def _do(self, number: int) -> None:
        assert self.gate.wait(20)
        if number < 0:
            raise ValueError("a job of ours")
        self.done.append(number)


def test_in_order_and_on_after_errors(caplog: pytest.LogCaptureFixture) -> None:
    jobs, worker = Jobs(open=False), Worker()
    assert worker.flush(0)
    jobs.put(worker, 0, -1, 2, 3)
    assert worker.flush(0.01) is False
    jobs.gate.set()
    assert worker.flush(20) is True
    assert jobs.done == [0, 2, 3]
    assert "a job of ours" in caplog.text
    assert "partial" not in caplog.text  # what a job was given may hold a question


def test_putting_never_blocks_and_drops_the_oldest(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 10)
    jobs, worker = Jobs(open=False), Worker()
    jobs.put(worker, *range(100))
    jobs.gate.set()
    assert worker.flush(20)
    assert jobs.done[-10:] == list(range(90, 100))
    assert len(jobs.done) <= 11
    assert "the oldest is dropped" in caplog.text


def test_a_job_that_flushes_does_not_wait_for_itself() -> None:
    worker, flushed = Worker(), list[bool]()
    worker.put(lambda: flushed.append(worker.flush()))
    assert worker.flush(20)
    assert flushed == [True]


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hebbgraph-learner"]


def test_a_job_put_while_the_thread_is_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a stream that is collected just then: it is done all the same, and in order."""
    jobs, worker, put = Jobs(), Worker(), list[int]()
    thread_class = threading.Thread

    def make(*args: object, **kwargs: object) -> threading.Thread:
        if not put:
            put.append(2)
            jobs.put(worker, 2)
        return thread_class(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(threading, "Thread", make)
    jobs.put(worker, 1)
    assert worker.flush(20)
    assert jobs.done == [1, 2]


def test_a_flush_starts_the_thread_that_could_not_be_started(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    jobs, worker = Jobs(), Worker()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        jobs.put(worker, 1)
    assert "so answers wait: can't start new thread" in caplog.text
    assert worker.flush(20)
    assert jobs.done == [1]


def test_many_workers_share_a_few_threads_that_end_when_idle() -> None:
    before = set(threads())
    jobs, workers = Jobs(open=False), [Worker() for _ in range(50)]
    for worker in workers:
        jobs.put(worker, 1, 2)
    own = set(threads()) - before
    assert 0 < len(own) <= module.MAX_THREADS
    jobs.gate.set()
    assert all(worker.flush(20) for worker in workers)
    for thread in own:
        thread.join(20)
        assert not thread.is_alive()
    jobs.put(workers[0], 3)
    assert workers[0].flush(20)
    assert sorted(jobs.done) == [1] * 50 + [2] * 50 + [3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_starts_anew() -> None:
    code = (
        "import os, threading; from hebbgraph.citations.worker import Worker; worker = Worker()\n"
        "gate, done = threading.Event(), []; worker.put(gate.wait)\n"
        "if pid := os.fork(): print(os.waitpid(pid, 0)[1]); gate.set()\n"
        "else: worker.put(lambda: done.append(1)); os._exit(not (worker.flush(20) and done))"
    )
    quiet = ("-W", "ignore:This process:DeprecationWarning")  # from 3.12 on, Python warns of forks
    command = [sys.executable, *quiet, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("0\n", "")


def test_a_waiting_job_keeps_its_owner_and_an_idle_thread_does_not() -> None:
    class Owner:
        def __init__(self) -> None:
            self.jobs, self.worker = Jobs(open=False), Worker()

        def work(self) -> None:
            self.jobs._do(1)

    owner = Owner()
    jobs = owner.jobs
    owner.worker.put(owner.work)
    gone, worker = weakref.ref(owner), owner.worker
    del owner
    gc.collect()
    assert gone() is not None
    jobs.gate.set()
    assert worker.flush(20)
    collected = weakref.ref(worker)
    del worker
    gc.collect()
    assert jobs.done == [1]
    assert (gone(), collected()) == (None, None)


def test_what_waits_is_finished_when_the_process_exits() -> None:
    code = (
        "import time; from hebbgraph.citations.worker import Worker; worker = Worker()\n"
        "worker.put(lambda: time.sleep(0.1)); worker.put(lambda: print('done', flush=True))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("done\n", "")


def test_a_stream_left_open_does_not_keep_the_process_alive() -> None:
    """Python closes it after its threads: one that is started then never runs."""
    code = """
from hebbgraph.citations import Exchange, Learner
learner = Learner()
def stream():
    try:
        yield 1
        yield 2
    finally:
        learner.submit(Exchange)
open_stream = stream()
next(open_stream)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr.startswith("an answer ended while Python was exiting")
    assert "Traceback" not in ran.stderr
