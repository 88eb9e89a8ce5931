"""Helpers for tests of HTML pages: a browser, hostile names, and a parser."""

from __future__ import annotations

import re
import shutil
from html import unescape
from html.parser import HTMLParser

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "\u202eabc\u2066",
    "x" * 10_000,
    'O\'Neill & "Co"',
]
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
LOADED = r"""(src|href|action|data)=["'](?!#|data:image/png;base64,)|url\(|@import|https?:|//[a-z]+\."""
"""Matches anything that makes a page load a file; embedded images load nothing."""


def text_of(html: str) -> str:
    """Return the text of a page with a space for each tag."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def read_text(html: str) -> str:
    """Return the text of a page with nothing for each tag, so that words stay whole."""
    return unescape(re.sub(r"<[^>]+>", "", html))


class Tags(HTMLParser):
    """Collect open tags, ids and targets of links."""

    VOID = ("meta", "input", "br")

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.open += [] if tag in self.VOID else [tag]

    def handle_startendtag(self, tag, attrs):
        """Ignore tags such as <path/> that close themselves."""

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(html: str) -> Tags:
    """Parse a page and check that every tag is closed."""
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    return tags
