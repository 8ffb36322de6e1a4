"""hebbgraph's own command and usebench's tell the same figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from usebench.sets.plain import write_set

from hebbgraph_bench.learning import equal
from hebbgraph_bench.proof.use import Protocol

PASSAGES = {
    "lamp": "The lamp of the tower was made by Edda Lund and burned oil.",
    "oil": "Oil came from the whales that the crews of Skarn hunted.",
    "edda": "Edda Lund learned her craft in the glassworks of Vell.",
    "vell": "Vell has glassworks, a bridge and a market for oil.",
    "crew": "The crews of Skarn sailed in spring and came home in autumn.",
    "bridge": "The bridge of Vell was built from stone of the northern rock.",
}
QUESTIONS = [
    ("Who made the lamp?", "lamp"),
    ("What did the lamp burn?", "oil"),
    ("Where did Edda learn?", "edda"),
    ("When do the crews come home?", "crew"),
    ("What is the bridge made of?", "bridge"),
    ("Where can oil be bought?", "vell"),
    ("Who is the maker of the lamp?", "lamp"),
    ("Of what stone is the bridge?", "bridge"),
]


def test_both_commands_tell_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_set(
        tmp_path / "skarn",
        [{"id": id_, "title": id_.title(), "text": text} for id_, text in PASSAGES.items()],
        [
            {"id": str(at), "question": question, "supporting_ids": [gold]}
            for at, (question, gold) in enumerate(QUESTIONS)
        ],
        order="shuffled",
    )
    monkeypatch.setattr(equal, "PROTOCOLS", (Protocol("skarn", "mixed", "gold"),))
    to = tmp_path / "equal.json"
    assert equal.main([str(tmp_path), "--to", str(to)]) == 0
    (stream,) = json.loads(to.read_text("utf-8"))["streams"]
    assert stream["systems"][0] == "hebbgraph"
    assert (stream["figures"] > 200, stream["unequal"]) == (True, {})
    assert f"{stream['figures']:,} figures, 0 differ" in capsys.readouterr().out


def test_no_set_is_no_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert equal.main([str(tmp_path)]) == 1
    assert "feedbackqa_half" in capsys.readouterr().err
