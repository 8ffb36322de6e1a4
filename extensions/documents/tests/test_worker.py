"""The process that converts files: kept, replaced when it fails, never believed blindly."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

import pytest
from hebbgraph.errors import ConversionError, MissingExtraError, ParameterError

from hebbgraph_documents import ConversionLimits, Document, read_document, worker
from hebbgraph_documents.outline import Heading
from hebbgraph_documents.worker import ConversionWorker, convert_apart
from hebbgraph_documents.worker_protocol import ProtocolError, headings_of

LIMITS = ConversionLimits()

# Behaves until it is asked, then does what it is told to.
FAKE = """
import json, sys, time
given, told = sys.stdin.buffer, sys.stdout.buffer
def frame(data, length=None):
    told.write((len(data) if length is None else length).to_bytes(8, "big") + data)
    told.flush()
def answer(header, body=b""):
    frame(json.dumps(header).encode()); frame(body)
def question():
    return [given.read(int.from_bytes(given.read(8), "big")) for _ in range(2)]
answer({"ready": True})
"""


@pytest.fixture
def one():
    made = []

    def make(command=None):
        made.append(ConversionWorker(command))
        return made[-1]

    yield make
    for worker_ in made:
        worker_.close()


def faking(code: str) -> list[str]:
    return [sys.executable, "-c", FAKE + code]


def ask(one: ConversionWorker, data: bytes = b"<p>It lasts.", limits=LIMITS, **options) -> Document:
    given = {"path": "a.html", "max_bytes": 1_000_000, "encoding": None} | options
    return one.convert(data, limits=limits, **given)


def test_one_process_serves_file_after_file(one):
    kept = one()
    assert kept._process is None
    first = ask(kept)
    process = kept._process
    assert first == Document("It lasts.", "a", "text/html", ())
    page = b"<title>Brain</title><h1>The brain</h1><p>It learns.<h2>Sleep</h2>"
    assert ask(kept, page) == Document(
        "# The brain\n\nIt learns.\n\n## Sleep",
        "The brain",
        "text/html",
        (Heading(1, "The brain", 0, 1), Heading(2, "Sleep", 4, 5)),
    )
    for _ in range(2):
        with pytest.raises(ConversionError, match=r"^a\.pdf: is damaged"):
            ask(kept, b"no pdf", path="a.pdf")
    assert kept._process is process


def test_it_answers_as_this_process_would(tmp_path):
    path = tmp_path / "Größe \N{OWL}.html"
    path.write_bytes("<meta charset=koi8-r><p>突触 \ud800".encode("utf-8", "surrogatepass"))
    for encoding in (None, "utf-8", "windows-1252"):
        apart, here = (
            read_document(path, encoding=encoding, limits=limits) for limits in (LIMITS, None)
        )
        assert apart == here


def test_one_that_takes_too_long_is_killed_and_replaced(one):
    slow = one(faking("question(); time.sleep(1000)"))
    for _ in range(2):
        with pytest.raises(ConversionError, match=r"^a\.html: takes longer than 0\.2 seconds"):
            ask(slow, limits=ConversionLimits(seconds=0.2))
        assert slow._process is None


def test_one_that_does_not_even_listen_is_killed(one):
    deaf = one(faking("time.sleep(1000)"))
    with pytest.raises(ConversionError, match="takes longer than"):
        ask(deaf, b"x" * 10_000_000, limits=ConversionLimits(seconds=0.2))


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("question(); sys.exit(3)", "exit code 3"),
        ("question(); told.write(b'half')", "exit code 0"),
        ("question(); frame(b'{}')", "exit code 0"),
        pytest.param(
            "import os, signal; question(); os.kill(os.getpid(), signal.SIGSEGV)",
            "SIGSEGV",
            marks=pytest.mark.skipif(os.name == "nt", reason="no signals"),
        ),
    ],
)
def test_one_that_dies_says_how(one, code, how):
    with pytest.raises(ConversionError) as caught:
        ask(one(faking(code)))
    assert str(caught.value).startswith(
        f"a.html: crashed the process that converts it ({how}); it is damaged, or takes more "
    )


GOOD = {"title": "T", "headings": [[1, "It", 0, 1]]}


@pytest.mark.parametrize(
    "code",
    [
        "frame(b'', 2**63)",
        "frame(b'{}'); frame(b'', 2**40)",
        "frame(b'[]'); frame(b'')",
        "frame(b'{'); frame(b'')",
        "frame(b'[' * 100_000); frame(b'')",
        "frame(b'\\xff'); frame(b'')",
        "answer({})",
        "answer({'title': 1, 'headings': []})",
        "answer({'title': '', 'headings': {}})",
        "answer({'title': '', 'headings': []}, b'\\xff')",
        "answer({'title': '', 'headings': [[1, 'x', 5, 6]]}, b'text')",
        "answer({'failed': 'file'})",
        "answer({'failed': ['file'], 'reason': ''})",
        "answer({'failed': 'else', 'reason': ''})",
    ],
)
def test_invalid_output_is_refused(one, code):
    fake = one(faking(f"question(); {code}; question()"))
    with pytest.raises(ConversionError, match="returned invalid output"):
        ask(fake)
    assert fake._process is None


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [1],
        [[1, "x", 0]],
        [[0, "x", 0, 1]],
        [[7, "x", 0, 1]],
        [[1.0, "x", 0, 1]],
        [[1, None, 0, 1]],
        [[1, "x" * 201, 0, 1]],
        [[1, "x", -1, 1]],
        [[1, "x", 0, 9]],
        [[1, "x", 1, 2], [1, "x", 0, 1]],
    ],
)
def test_headings_are_checked(wrong):
    good = [[1, "x", 0, 1], [2, "y", 1, 3]]
    assert headings_of(good, lines=3) == (Heading(1, "x", 0, 1), Heading(2, "y", 1, 3))
    with pytest.raises(ProtocolError):
        headings_of(wrong, lines=3)


def test_one_that_holds_on_to_memory_is_replaced(one):
    full = one(faking(f"question(); answer({GOOD | {'last': True}!r}, b'It'); question()"))
    assert ask(full).title == "T"
    assert full._process is None
    assert ask(full).title == "T"


def test_what_it_cannot_do_is_the_error_that_it_would_be_here(one):
    for failed, error in (("extra", MissingExtraError), ("parameter", ParameterError)):
        answer = json.dumps({"failed": failed, "reason": "why"})
        with pytest.raises(error, match=r"^why$"):
            ask(one(faking(f"question(); frame({answer.encode()!r}); frame(b''); question()")))


def test_one_that_died_between_two_files_is_replaced(one):
    kept = one()
    ask(kept)
    kept._process.kill()
    kept._process.wait()
    assert ask(kept).text == "It lasts."


def test_an_interrupted_file_is_not_answered_later(one, monkeypatch):
    kept = one()
    ask(kept)
    receive = worker.receive

    def interrupted(*_, **__):
        monkeypatch.setattr(worker, "receive", receive)
        raise KeyboardInterrupt

    monkeypatch.setattr(worker, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask(kept, b"<p>Not this.")
    assert ask(kept).text == "It lasts."


def test_without_a_process_there_is_another_way(one, monkeypatch):
    with pytest.raises(ConversionError, match="limits=None converts files in this one"):
        ask(one(["no-such-program-at-all"]))
    with pytest.raises(ConversionError, match="ended with 5; limits=None"):
        ask(one([sys.executable, "-c", "raise SystemExit(5)"]))
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(ConversionError, match="no Python to run"):
        ask(one())


def test_threads_do_not_wait_for_each_other(monkeypatch):
    monkeypatch.setattr(worker, "_idle", [])
    both = threading.Barrier(2, timeout=60)
    send = worker.send

    def meet(*given):
        both.wait()
        send(*given)

    monkeypatch.setattr(worker, "send", meet)
    texts: list[str] = []

    def convert(number):
        texts.append(
            convert_apart(
                b"<p>%d" % number, path="a.html", max_bytes=99, encoding=None, limits=LIMITS
            ).text
        )

    threads = [threading.Thread(target=convert, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(texts) == ["0", "1"]
    assert len(worker._idle) == 2
    worker._close_idle()
    assert worker._idle == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork_each_has_a_process_of_its_own(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("<p>It lasts.")
    read_document(path)
    process = worker._idle[-1]._process
    child = os.fork()
    if child == 0:
        fine = not worker._idle and read_document(path).text == "It lasts."
        worker._close_idle()
        os._exit(0 if fine else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert process.poll() is None
    assert read_document(path).text == "It lasts."
    assert worker._idle[-1]._process is process


@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="no limit of processor time")
def test_one_whose_parent_is_gone_ends_by_itself(one):
    # Nobody watches the clock any more: the limit of processor time does.
    code = "import os, signal; question(); os.kill(os.getpid(), signal.SIGXCPU)"
    with pytest.raises(ConversionError, match="takes longer than 60 seconds"):
        ask(one(faking(code)))


def test_short_markdown_and_text_start_no_process(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr(worker.subprocess, "Popen", refuse)
    monkeypatch.setattr(worker, "_idle", [])
    for name, length in (("a.md", 100_000), ("a.txt", 1_000_000)):
        (tmp_path / name).write_text("x" * length)
        assert read_document(tmp_path / name).text
    (tmp_path / "long.md").write_text("x" * 100_001)
    with pytest.raises(AssertionError):
        read_document(tmp_path / "long.md")


@pytest.mark.parametrize(
    "wrong",
    [
        {"seconds": 0},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"memory_bytes": 1_000_000},
        {"output_characters": 0},
        {"chunks": 0},
    ],
)
def test_limits_are_checked(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        ConversionLimits(**wrong)
