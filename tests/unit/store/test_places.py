"""Places: directories, URLs, and secrets in them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from hebbgraph import HebbianIndex, ParameterError
from hebbgraph.errors import ConnectionLostError, MissingExtraError
from hebbgraph.store.places import as_directory, masked, parse_url

SECRET = "knot-4711"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ida:{SECRET}@host/boats",
        f"postgresql://host/boats?password={SECRET}",
        f"postgresql://host/boats?sslpassword={SECRET}&user=ida",
        f"postgresql+psycopg://ida:{SECRET}@host:5432/boats?PASSWORD={SECRET}&sslmode=require",
    ],
)
def test_no_password_is_shown(url: str) -> None:
    shown = masked(parse_url(url))
    assert SECRET not in shown
    assert "***" in shown
    assert "host" in shown
    assert "boats" in shown


@pytest.mark.parametrize(
    "location",
    [
        f"postgresql:/ida:{SECRET}@host/boats",
        f"postgresql:ida:{SECRET}@host/boats",
        f"postgresql+psycopg:/ida:{SECRET}@host/boats",
        Path(f"postgresql://ida:{SECRET}@host/boats"),  # a Path drops a slash
        f"postgresql://ida:{SECRET}@host:port/boats",
        f"postgresql://ida:{SECRET}/5@host/boats",
        f"://{SECRET}",
        f"nothing+known://ida:{SECRET}@host/boats",
        f"sqlite:///:memory:?password={SECRET}&mode=\ud800",
        f"mysql://ida:{SECRET}@host/boats",
        f"postgresql://ida:{SECRET}@host/boats?nothing_known={SECRET}&password={SECRET}",
        "bo\0ats",
        "bo\ud800ats",
        "",
        b"boats",
    ],
)
def test_odd_locations_are_refused_and_make_no_folder(
    location: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ParameterError, MissingExtraError, ConnectionLostError)) as caught:
        HebbianIndex.open(location)
    # What is not known to be a password may be shown: an unknown parameter's value.
    if "nothing_known" not in str(location):
        assert SECRET not in str(caught.value)
    if isinstance(location, bytes) or not str(location).startswith(":"):
        with pytest.raises(ParameterError):
            HebbianIndex.open(":memory:", cache_dir=location)
    assert list(tmp_path.iterdir()) == []


def test_a_backup_is_no_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"postgresql://ida:{SECRET}@host/boats"
    with HebbianIndex.open(":memory:") as index:
        for work in (
            lambda: index.backup(url),
            lambda: HebbianIndex.restore(url, "boats"),
            lambda: HebbianIndex.restore("boats", url),
        ):
            with pytest.raises(ParameterError, match="looks like a URL") as caught:
                work()
            assert SECRET not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_may_have_a_colon_in_its_name() -> None:
    assert as_directory("./notes:2024") == Path("notes:2024")
    assert as_directory("C:/notes") == Path("C:/notes")


def test_a_missing_server_is_named_without_its_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pytest.importorskip("psycopg", reason="needs the extra hebbgraph[postgres]")
    from hebbgraph import Settings

    url = f"postgresql://ida:{SECRET}@/boats?host=/nowhere&sslpassword={SECRET}"
    with caplog.at_level(logging.DEBUG), pytest.raises(ConnectionLostError) as caught:
        HebbianIndex.open(url, settings=Settings(write_wait_seconds=0.1))
    assert SECRET not in str(caught.value)
    assert SECRET not in caplog.text
