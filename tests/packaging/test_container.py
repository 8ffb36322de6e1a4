"""The Containerfile, as far as it can be held to account without an engine that builds it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

pytest.importorskip("fastapi", reason="the extra server is not installed")

from hebbgraph_server import create_app
from hebbgraph_server.commands import serve as serve_command
from serving import Served

from hebbgraph import HebbianIndex, IndexPool
from hebbgraph.store.places import parse_url

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, str]]:
    """Instructions with their arguments."""
    text = (REPOSITORY / "Containerfile").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [
        (name, rest.strip())
        for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)
    ]


def test_it_copies_and_installs_what_there_is(steps: list[tuple[str, str]]) -> None:
    for name, rest in steps:
        if name == "COPY":
            assert all((REPOSITORY / source).exists() for source in rest.split()[:-1]), rest
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [rest.removeprefix("EXTRAS=") for name, rest in steps if rest.startswith("EXTRAS=")]
    assert len(extras) == 2
    assert extras[0] == extras[1]
    assert set(extras[0].split(",")) <= set(project["optional-dependencies"])
    # Whatever distribution of this repository an extra names is built, too.
    runs = " ".join(rest for name, rest in steps if name == "RUN")
    for extra in extras[0].split(","):
        (needed,) = project["optional-dependencies"][extra]
        name = needed.removeprefix("hebbgraph-").partition("[")[0]
        assert f"./extensions/{name}" in runs
    kept = (REPOSITORY / ".containerignore").read_text("utf-8").splitlines()
    copied = [source for name, rest in steps if name == "COPY" for source in rest.split()[:-1]]
    assert all(f"!{source.removeprefix('./')}" in kept for source in copied)


def test_it_runs_without_rights_on_one_volume(steps: list[tuple[str, str]]) -> None:
    last = steps[max(at for at, (name, _) in enumerate(steps) if name == "FROM") :]
    told = dict(last)
    assert [name for name, _ in last].index("USER") < [name for name, _ in last].index("ENTRYPOINT")
    assert f"useradd --uid 10001 --home-dir {told['VOLUME']}" in told["RUN"]
    assert told["RUN"].endswith(told["USER"])
    kept = dict(one.split("=") for one in told["ENV"].split())
    assert kept.pop("HEBBGRAPH_PORT") == told["EXPOSE"]
    assert all(path.startswith(f"{told['VOLUME']}/") for path in kept.values())
    assert set(kept) == {"HEBBGRAPH_DB", "HEBBGRAPH_CACHE_DIR"}
    assert json.loads(told["ENTRYPOINT"]) == ["hebbgraph", "serve", "--host", "0.0.0.0"]


def test_its_base_does_not_move(steps: list[tuple[str, str]]) -> None:
    assert steps[0][0] == "ARG"
    assert re.fullmatch(r"PYTHON=\S+:3\.\d+-slim@sha256:[0-9a-f]{64}", steps[0][1])
    assert {rest.split()[0] for name, rest in steps if name == "FROM"} == {"${PYTHON}"}
    (wheel,) = (rest for name, rest in steps if name == "RUN" and "pip wheel" in rest)
    assert "--constraint constraints.txt" in wheel


def test_compose_speaks_of_options_that_there_are(steps: list[tuple[str, str]]) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    services = yaml.safe_load((REPOSITORY / "compose.yaml").read_text("utf-8"))["services"]
    server, database = services["hebbgraph"], services["postgres"]
    assert (REPOSITORY / server["build"]["dockerfile"]).exists()
    alone = typer.Typer()
    alone.command()(serve_command)
    serve = typer.main.get_command(alone)
    known = {one.envvar for one in serve.params} | {"HEBBGRAPH_TOKEN", "PGPASSWORD"}
    assert set(server["environment"]) <= known
    # Of every option but those that print something and exit.
    printing = {"new_token", "install_completion", "show_completion"}
    assert {one.name for one in serve.params if not one.envvar} <= printing
    url = parse_url(server["environment"]["HEBBGRAPH_DB"])
    assert (url.host, url.user) == ("postgres", database["environment"]["POSTGRES_USER"])
    assert server["volumes"][0].endswith(f":{dict(steps)['VOLUME']}")
    assert server["ports"][0].endswith(f":{dict(steps)['EXPOSE']}")


def test_its_environment_opens_an_index(tmp_path: Path) -> None:
    with (
        IndexPool(str(tmp_path / "memory.hebb"), cache_dir=tmp_path / "derived") as pool,
        pool.lend("default") as index,
    ):
        assert index.stats().chunks == 0


def test_it_checks_its_health(steps: list[tuple[str, str]], tmp_path: Path) -> None:
    (check,) = (rest for name, rest in steps if name == "HEALTHCHECK")
    _, option, code = json.loads(check.partition(" CMD ")[2])
    with HebbianIndex.open(tmp_path / "index") as index:
        served = Served(create_app(index))
        here = os.environ | {"HEBBGRAPH_PORT": str(served.port)}
        command = [sys.executable, option, code]
        try:
            assert subprocess.run(command, env=here, check=False).returncode == 0
        finally:
            served.stop()
        gone = subprocess.run(command, env=here, stderr=subprocess.PIPE, check=False)
        assert gone.returncode != 0
