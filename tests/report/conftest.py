"""A browser for the tests of pages, started once per session."""

from __future__ import annotations

import pytest
from browsing import CHROMIUM, DESKTOP
from playwright.sync_api import sync_playwright


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def showing(browser):
    """Return a function that opens a file; errors and requests fail the test."""
    contexts, complaints = [], []

    def show(path, **options):
        context = browser.new_context(**{"viewport": DESKTOP, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on(
            "request",
            lambda asked: (
                None if asked.url.startswith("file:") else complaints.append(asked.url)
            ),
        )
        page.goto(path.as_uri())
        return page

    yield show
    for context in contexts:
        context.close()
    assert complaints == []
