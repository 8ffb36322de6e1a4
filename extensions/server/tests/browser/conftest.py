"""The page in a real browser, over an index that the tests hold too.

Needs Debian's chromium (or another, named by ``CHROMIUM``). Without one, these tests are skipped;
with ``HEBBGRAPH_BROWSER=required``, as in CI, they fail.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hebbgraph import HebbianIndex, LearningSettings, Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Request

REPOSITORY = Path(__file__).parents[4]
FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader", "--use-gl=angle", "--use-angle=swiftshader"]
#: As wide as a wall, a desk, a tablet and a phone.
WIDTHS = {2560: 1440, 1440: 900, 768: 1024, 390: 844}


def _missing() -> str | None:
    for module in ("fastapi", "playwright", "axe_playwright_python"):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed"
    return None if _chromium() else "there is no chromium (apt-get install chromium)"


def _chromium() -> str | None:
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


class Server:
    """A server of this process that can be stopped and started again on its port."""

    def __init__(self, index: HebbianIndex) -> None:
        self._index = index
        self.tokens: tuple[Any, ...] = ()
        self.model: Any = None
        self.folder: Any = None
        self.learns = False
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/"

    def start(self) -> None:
        import uvicorn

        from hebbgraph_server import ServerSettings, create_app

        settings = ServerSettings(
            requests_per_minute=None,
            tokens=self.tokens,
            model=self.model,
            folder=self.folder,
            learn_from_use=self.learns,
        )
        app = create_app(self._index, settings)
        config = uvicorn.Config(
            app,
            host="127.0.0.1",
            port=self.port,
            log_level="error",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.01)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()


class Window:
    """A page of the browser, and what went wrong in it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.wrong: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.wrong.append(f"a script ran: {dialog.message}"))
        page.on("request", self._requested)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning") and "GPU stall" not in message.text:
            self.wrong.append(f"{message.type}: {message.text}")

    def _requested(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.wrong.append(f"foreign request: {request.url}")

    def go(self, view: str) -> Page:
        """Open a view without losing what the tab remembers, and wait until all of it is drawn."""
        address = f"#/{quote(view, safe='/?&=%')}"
        self.page.goto(f"{self.url}{address}")
        # No role tells that a view is complete.
        self.page.locator(f"main[data-shown='{address}']").wait_for()
        return self.page

    def wait_for(self, role: Any, name: str | re.Pattern[str]) -> None:
        """Wait for the first element of this role and name."""
        self.page.get_by_role(role, name=name).first.wait_for()

    def ask(self, question: str) -> Page:
        """Ask, and wait for the answer."""
        page = self.go("ask")
        page.get_by_label("Question", exact=True).fill(question)
        page.get_by_role("button", name="Ask", exact=True).click()
        answer = page.get_by_role("region", name=question, exact=True)
        answer.get_by_role("heading").first.wait_for()
        return page

    def hits(self, question: str | None = None) -> Locator:
        """The cards of all answers, or of the answer to one of two questions."""
        lists = self.page.get_by_role("list", name="Passages", exact=True)
        if question is not None:
            answer = self.page.get_by_role("region", name=question, exact=True)
            lists = answer.get_by_role("list", name="Passages", exact=True)
        return lists.get_by_role("listitem", name=re.compile(r"^\d+ "))

    def hit(self, rank: int) -> Locator:
        """The card of this rank: rank and heading are its name."""
        return self.hits().and_(self.page.get_by_role("listitem", name=re.compile(f"^{rank} ")))

    @staticmethod
    def rows(table: Locator) -> list[list[str]]:
        """What the cells below a table's head say."""
        lines = table.get_by_role("row").all_inner_texts()[1:]
        return [[cell.strip() for cell in line.split("\t")] for line in lines]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if reason := _missing():
        if os.environ.get("HEBBGRAPH_BROWSER") == "required":
            pytest.fail(f"the page is not tested: {reason}")
        pytest.skip(f"the page is not tested: {reason}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def demo(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's index: the example corpus, and what some of its questions taught."""
    spec = importlib.util.spec_from_file_location("demo_page", REPOSITORY / "examples/demo_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["demo_page"] = module
    spec.loader.exec_module(module)
    place = tmp_path_factory.mktemp("demo") / "index"
    module.build(place)
    return place


@pytest.fixture
def index(demo: Path, tmp_path: Path) -> Iterator[HebbianIndex]:
    """The demo's index, a copy for each test."""
    shutil.copytree(demo, tmp_path / "index")
    settings = Settings(learning=LearningSettings(store_queries=True))  # as the demo has it
    with HebbianIndex.open(tmp_path / "index", settings=settings) as opened:
        yield opened


@pytest.fixture
def server(index: HebbianIndex) -> Iterator[Server]:
    served = Server(index)
    yield served
    served.stop()


@pytest.fixture
def open_window(browser: Browser, server: Server) -> Iterator[Callable[..., Window]]:
    """Open the page in a fresh profile; afterwards nothing may have gone wrong in it."""
    opened: list[Window] = []

    def open_one(*, width: int = 1440, dark: bool = False, **options: Any) -> Window:
        context = browser.new_context(
            viewport={"width": width, "height": WIDTHS.get(width, 900)},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            locale="en-GB",
            **options,
        )
        context.set_default_timeout(20_000)
        opened.append(Window(context.new_page(), server.url))
        return opened[-1]

    yield open_one
    wrong = [one for window in opened for one in window.wrong]
    for window in opened:
        window.page.context.close()
    assert wrong == []


@pytest.fixture
def window(open_window: Callable[..., Window]) -> Window:
    return open_window()
