"""``hebbgraph serve`` as a process."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

import hebbgraph
from hebbgraph.cli import app
from hebbgraph.errors import ParameterError
from typer.testing import CliRunner

from hebbgraph_server.client import HebbianClient
from hebbgraph_server.running import JsonLines

SECRET = "a-secret-that-no-log-shows"


def test_it_serves_and_ends_cleanly(location: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "hebbgraph", "serve", "--db", str(location), "--port", str(port)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "HEBBGRAPH_TOKEN": SECRET},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                health = json.load(urllib.request.urlopen(f"{url}/v1/health"))
                break
            except OSError:
                time.sleep(0.1)
        assert health == {"status": "ok", "version": hebbgraph.__version__}
        with HebbianClient(url, token=SECRET) as client:
            recall = client.recall("Whose very private question is this?")
            client.reinforce(recall, cited=[recall.hits[0].chunk.id])
    finally:
        server.send_signal(signal.SIGTERM)
        shown = "".join(server.communicate(timeout=30))
    assert server.returncode in (0, -signal.SIGTERM)
    assert f"serving {location} on {url}/" in shown
    assert SECRET not in shown
    assert "private" not in shown


def test_it_refuses_the_network_without_a_token(
    location: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEBBGRAPH_TOKEN", raising=False)
    done = CliRunner().invoke(app, ["serve", "--db", str(location), "--host", "0.0.0.0"])
    assert isinstance(done.exception, ParameterError)
    assert "without a token" in str(done.exception)


def test_new_tokens_differ() -> None:
    first, second = (CliRunner().invoke(app, ["serve", "--new-token"]).stdout for _ in range(2))
    assert len(first.strip()) >= 40
    assert first != second


def test_it_says_where_it_listens_once_it_does(location: Path, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[learning]\nhalf_life_events = 100.0\n")
    command = [sys.executable, "-m", "hebbgraph", "serve", "--port", "0", "--settings", str(file)]
    path = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HEBBGRAPH_DB": str(location),
        "HEBBGRAPH_STORE_QUERIES": "1",
        "HEBBGRAPH_ALLOWED_HOST": "wiki.example.org ships.example.org",
        "HEBBGRAPH_LOG_FORMAT": "json",
        "HEBBGRAPH_LOG_LEVEL": "info",
    }
    server = subprocess.Popen(command, env=os.environ | path, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        lines = []
        while not (line := server.stderr.readline()).startswith("serving"):
            lines.append(line)
        url = line.split(" on ")[1].strip()
        with HebbianClient(url) as client:
            recall = client.recall("Who built the Petrel?")
            client.reinforce(recall, cited=[recall.hits[0].chunk.id])
            assert client.lessons()[-1].question == "Who built the Petrel?"
        elsewhere = urllib.request.Request(f"{url}v1/health", headers={"Host": "ships.example.org"})
        assert urllib.request.urlopen(elsewhere).status == 200
        taken = subprocess.run(
            [*command[:5], url.rstrip("/").rpartition(":")[2]],
            env=os.environ | path,
            capture_output=True,
            text=True,
        )
        assert taken.returncode == 1
        assert "cannot listen on 127.0.0.1" in taken.stderr
        assert taken.stderr.count("address already in use") == 1
        assert "serving" not in taken.stderr
    finally:
        server.send_signal(signal.SIGTERM)
        lines += server.communicate(timeout=30)[1].splitlines()
    events = [json.loads(line) for line in lines]
    assert {"time", "level", "logger", "event"} <= set.intersection(*map(set, events))
    (recall,) = (one for one in events if one.get("route") == "/v1/recall")
    assert (recall["event"], recall["status"], recall["token"]) == ("request", 200, "local")
    assert "Petrel" not in "".join(lines)


def test_an_event_is_one_line_whatever_it_holds() -> None:
    record = logging.LogRecord("a", logging.ERROR, "", 0, "two\nlines of %r", ("x\ny",), None)
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        record.exc_info = sys.exc_info()
    line = JsonLines().format(record)
    assert "\n" not in line
    told = json.loads(line)
    assert told["event"] == "two\nlines of 'x\\ny'"
    assert told["exception"].endswith("ValueError: first\nsecond")


def test_it_says_if_the_index_is_new(
    location: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = "http://127.0.0.1:4321/"
    monkeypatch.setattr(
        "hebbgraph_server.running.run", lambda *_, on_start, **options: on_start(started)
    )
    for place, end in (
        (location, started),
        (tmp_path / "brids", f"{started}; it is new and empty"),
    ):
        done = CliRunner().invoke(app, ["serve", "--db", str(place)])
        assert " ".join(done.output.split()).endswith(end)
