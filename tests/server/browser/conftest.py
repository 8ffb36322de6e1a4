"""The page in a real browser, over a server of this process.

Needs Debian's chromium (or another, named by ``CHROMIUM``). Without one, these tests are skipped;
with ``HEBBGRAPH_BROWSER=required``, as in CI, they fail.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hebbgraph import Chunk, HebbianIndex

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    Open = Callable[..., Page]

_WIDTHS = {"desk": (1440, 900), "phone": (390, 844)}


def _chromium() -> str | None:
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def _missing() -> str | None:
    for module in ("uvicorn", "playwright", "axe_playwright_python"):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed"
    return None if _chromium() else "there is no chromium (apt-get install chromium)"


@pytest.fixture(scope="module")  # asyncio cannot run in other modules while it is open
def browser() -> Iterator[Browser]:
    if reason := _missing():
        if os.environ.get("HEBBGRAPH_BROWSER") == "required":
            pytest.fail(f"the page is not tested: {reason}")
        pytest.skip(f"the page is not tested: {reason}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        yield opened
        opened.close()


@contextmanager
def _serving(location: Path, settings: dict[str, Any]) -> Iterator[str]:
    """Serve an index in a thread; yield the URL."""
    import uvicorn
    from hebbgraph_server.app import create_app, open_index
    from hebbgraph_server.settings import ServerSettings

    chosen = ServerSettings(index=str(location), requests_per_minute=None, **settings)
    config = uvicorn.Config(
        create_app(open_index(chosen), chosen), port=0, log_level="error", lifespan="on"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield f"http://localhost:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def add(location: Path) -> Callable[..., None]:
    """Add chunks to the index, before it is served."""

    def added(*chunks: Chunk | dict[str, Any]) -> None:
        with HebbianIndex.open(location) as index:
            index.add(chunks)

    return added


@pytest.fixture
def open_page(browser: Browser, location: Path) -> Iterator[Open]:
    """Serve the index with some settings and open a view; nothing may go wrong in the page."""
    with ExitStack() as stack:
        wrong: list[str] = []
        urls: list[str] = []

        def opened(
            view: str = "/", *, width: str = "desk", moving: bool = False, dark: bool = False,
            index: Path = location, **settings: Any,
        ) -> Page:  # fmt: skip
            if not urls or settings or index != location:
                urls.append(stack.enter_context(_serving(index, {"name": "manuals", **settings})))
            across, down = _WIDTHS[width]
            context = browser.new_context(
                viewport={"width": across, "height": down},
                reduced_motion="no-preference" if moving else "reduce",
                color_scheme="dark" if dark else "light",
                base_url=urls[-1],
            )
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(15_000)
            page.on("console", lambda said: _hear(said, wrong))
            page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
            page.on("dialog", lambda dialog: wrong.append(f"a script ran: {dialog.message}"))
            page.on("request", lambda request: _see(request, urls, wrong))
            page.goto(view)
            page.get_by_role("main").get_by_role("heading").first.wait_for(state="attached")
            return page

        yield opened
    assert wrong == []


def _hear(said: Any, wrong: list[str]) -> None:
    # A refused request is seen in the page, and no mistake of it.
    if said.type in ("error", "warning") and "Failed to load resource" not in said.text:
        wrong.append(f"{said.type}: {said.text}")


def _see(request: Any, urls: list[str], wrong: list[str]) -> None:
    if not request.url.startswith(tuple(urls)):
        wrong.append(f"foreign request: {request.url}")
