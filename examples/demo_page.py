"""Index the example corpus, teach it a little, and serve it: what `make demo-ui` runs."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from hebbgraph_documents import ingest
from hebbgraph_server import ServerSettings, create_app
from hebbgraph_server.running import run

from hebbgraph import HebbianIndex, LearningSettings, Settings

CORPUS = Path(__file__).parent / "corpus"
INDEX = Path("demo-ui.hebb")
ACTORS = ("ada", "ben", "cleo")
SHOWN = 10  # passages in a prompt
SETTINGS = Settings(learning=LearningSettings(store_queries=True))  # lessons show the questions


def build(location: Path) -> None:
    """Index the corpus, teach it some of its questions, and find its colonies."""
    questions = json.loads((CORPUS / "QUESTIONS.json").read_text("utf-8"))
    with HebbianIndex.open(location, settings=SETTINGS) as index:
        ingest([CORPUS], index, base=CORPUS, suffixes=[".md"])
        for number, question in enumerate(questions):
            recall = index.recall(question["question"], k=SHOWN)
            needed = question["documents"]
            cited = [hit.chunk.id for hit in recall.hits if hit.chunk.document_id in needed]
            if 0 < len(cited) < SHOWN // 2:
                index.reinforce(recall, cited, actor=ACTORS[number % len(ACTORS)])
        index.inspect.colonies()


def main() -> None:
    """Rebuild the index, and serve it until interrupted."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=4321)
    settings = ServerSettings(port=arguments.parse_args().port)
    shutil.rmtree(INDEX, ignore_errors=True)
    build(INDEX)
    with HebbianIndex.open(INDEX, settings=SETTINGS) as index:
        print(f"look: http://localhost:{settings.port} (stop with Ctrl-C)", flush=True)
        run(create_app(index, settings), settings)


if __name__ == "__main__":
    main()
