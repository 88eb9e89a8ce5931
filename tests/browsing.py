"""Helpers for tests of HTML pages: a browser, hostile names, and a parser."""

from __future__ import annotations

import re
import shutil
from base64 import b64decode
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple

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
LOADED = "|".join(
    [
        # Attributes with an address, unless it is in the page or an embedded image.
        r"""(src|href|action|data)=["'](?!#|data:image/svg\+xml;base64,)""",
        r"url\(",
        "@import",
        "https?:",
        r"//[a-z]+\.",
    ]
)
"""Matches anything that makes a page load a file; embedded images load nothing."""


def text_of(html: str) -> str:
    """Return the text of a page with a space for each tag."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def read_text(html: str) -> str:
    """Return the text of a page with nothing for each tag, so that words stay whole."""
    return unescape(re.sub(r"<[^>]+>", "", html))


class Image(NamedTuple):
    """An image of a page."""

    theme: str
    """Class of the image: "light" or "dark"."""
    svg: str
    words: str
    """Text alternative."""


def images_of(html: str) -> list[Image]:
    """Return the images of a page, each an SVG file within the page."""
    found = re.findall(
        r'<img class="(light|dark)" src="data:image/svg\+xml;base64,([^"]+)" '
        r'width="\d+" height="\d+" alt="([^"]*)"(?: hidden)?>',
        html,
    )
    assert len(found) == html.count("<img")
    return [
        Image(theme, b64decode(data).decode(), unescape(words))
        for theme, data, words in found
    ]


class Tags(HTMLParser):
    """Collect open tags, ids and targets of links."""

    VOID = ("meta", "input", "br", "img")

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
