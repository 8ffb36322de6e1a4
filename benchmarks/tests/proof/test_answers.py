"""Answers: what is judged, who reads, and what an index learns from a model's citations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from hebbgraph_bench.proof.answers import AnswerSettings, exact_match, f1, measure_answers
from hebbgraph_bench.proof.models import ModelError
from hebbgraph_bench.proof.reading import UrlReader


class Service(BaseHTTPRequestHandler):
    """Cites the source whose title is Mira Voss, and answers what it is asked about her."""

    asked: list[str]

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = request["messages"][0]["content"]
        self.asked.append(prompt)
        key = re.search(r"^\[(\w+)\] Mira Voss$", prompt, re.MULTILINE)
        said = f"Tarn [{key[1]}]" if key else "I do not know."
        body = json.dumps({"choices": [{"message": {"content": said}}]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    Service.asked = []
    server = HTTPServer(("127.0.0.1", 0), Service)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_answers_are_judged_and_taught_from(service: str, tmp_path: Path, own_folder: Path) -> None:
    settings = AnswerSettings(questions=3, tokens=60, url=service, model="a service")
    figures = measure_answers(own_folder, settings, model=None, cache=tmp_path).figures
    assert set(figures["systems"]) == {"BM25", "ours", "gold"}
    ours = figures["systems"]["ours"]
    assert ours["EM"] == pytest.approx(1 / 3)  # Tarn is right once
    assert 0 < ours["precision"] <= 1
    assert figures["learning"]["cited"] >= figures["learning"]["right"] > 0
    times = len(Service.asked)
    assert measure_answers(own_folder, settings, model=None, cache=tmp_path).figures == figures
    assert len(Service.asked) == times  # answers are kept


def test_a_service_that_is_away_is_told() -> None:
    with pytest.raises(ModelError, match="no answer"):
        UrlReader("http://127.0.0.1:9/v1", "none").read("who?")


def test_an_answer_of_several_words() -> None:
    assert exact_match("the ship Petrel", ["Petrel"]) == 0
    assert f1("the ship Petrel", ["schooner", "Petrel"]) == pytest.approx(2 / 3)
    assert f1("", ["Petrel"]) == 0
