"""What tests of the page look at: cards, by their role and rank."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

__all__ = ["ask", "card", "cards", "titles"]


def ask(page: Page, question: str) -> None:
    """Ask, and wait for the answer."""
    page.get_by_role("searchbox", name="Question", exact=True).fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("region", name=f"Answer to {question}").wait_for()


def cards(page: Page) -> Locator:
    """The passages that were found, best first."""
    found = page.get_by_role("list", name="Passages", exact=True)
    return found.get_by_role("listitem", name=re.compile(r"^\d+ "))


def card(page: Page, title: str) -> Locator:
    """The passage of a title, which is behind its rank."""
    return cards(page).and_(page.get_by_role("listitem", name=re.compile(rf"^\d+ {title}")))


def titles(page: Page) -> list[str]:
    """The titles of the passages, best first."""
    return [
        link.inner_text() for link in cards(page).get_by_role("heading").get_by_role("link").all()
    ]
