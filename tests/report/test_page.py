"""The page of an audit: its answer, findings and links, and escaped names."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browsing import read, read_text, text_of
from models import random_model

import embaudit as ea
from embaudit.auditing.catalogue import codes_for
from embaudit.auditing.wording import Nouns
from embaudit.model.final_norm import FinalNorm
from embaudit.report.document import LONGEST
from embaudit.report.page import page

pytestmark = pytest.mark.slow

HOSTILE = '<script>alert("1")</script>\u202e\'&amp;'


@pytest.fixture(scope="module")
def result():
    model = random_model(scales=([5, 3, 2, 1, 0.5], 1), objective="product")
    return ea.audit(model, n_gauges=2, source="model.npz")


@pytest.fixture(scope="module")
def html(result):
    return result.report()


@pytest.fixture(scope="module")
def head():
    rows = np.random.default_rng(0).standard_normal((40, 4)) + 1
    model = ea.FactorModel.from_softmax(rows, labels=[f"label {i}" for i in range(40)])
    return ea.audit(
        model, n_gauges=1, final_norm=FinalNorm("rms", [1.0, 2.0, 3.0, 4.0])
    )


@pytest.fixture(scope="module")
def pages(result, html, head):
    """Return audits with their pages."""
    return [(result, html), (head, head.report())]


def test_every_link_leads_to_a_place_on_the_page_and_ids_are_unique(pages):
    for _, html in pages:
        tags = read(html)
        assert {link[1:] for link in tags.links} <= set(tags.ids)
        assert all(link.startswith("#") for link in tags.links)
        assert len(tags.ids) == len(set(tags.ids))


def test_code_in_sentences_is_set_as_code_without_backticks(pages):
    for _, html in pages:
        shown = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
        assert "`" not in read_text(shown)


def test_the_top_of_a_page_gives_the_answer_the_reasons_and_the_advice(result, html):
    assert f"<h1>{result.answer.question}</h1>" in html
    reason = result.answer.because.capitalize()
    assert f"<b>{result.answer.word}.</b> <span>{reason}.</span>" in html
    said, advice = (
        [one.text for one in result.reasons if not one.title],
        result.answer.advice,
    )
    assert (
        html.index("<b>What to do</b>")
        < html.index(f"<p>{advice}</p>")
        < html.index('id="verdict"')
    )
    part = html.split('id="verdict"')[1].split("</section>")[0]
    assert [read_text(text) for text in re.findall("<p>(.*?)</p>", part)] == said
    alone = ea.audit(
        ea.FactorModel.from_vectors(result.model.right), n_gauges=1
    ).report()
    assert (
        '(<code><span class="whole">--compared</span> cosine</code>, '
        in alone.split('class="answer"')[1].split("</p>")[0]
    )


def test_every_finding_has_a_card_with_its_remedy(result, html):
    assert [finding.code for finding in result.findings] == re.findall(
        r'class="code" href="#EMB\d+">(EMB\d+)<', html
    )
    for finding in result.findings:
        card = html.split(f">{finding.code}<")[1].split("</article>")[0]
        assert f"<p>{finding.text}</p>" in card
        assert f"<b>What to do</b>{finding.remedy}</p>" in card
        assert f"<h3>{finding.title[0].upper()}{finding.title[1:]}</h3>" in card


def test_every_code_links_to_its_explanation(pages):
    for audit, html in pages:
        tags = read(html)
        codes = list(dict.fromkeys(finding.code for finding in audit.findings))
        assert [link[1:] for link in tags.links if link.startswith("#EMB")] == [
            one.code for one in audit.findings
        ]
        assert [one for one in tags.ids if one.startswith("EMB")] == codes
        for name in codes:
            card = html.split(f'id="{name}"')[1].split("</article>")[0]
            entry = codes_for(Nouns.from_model(audit.model))[name]
            sections = " ".join(f"{heading} {text}" for heading, text in entry.sections)
            explained = f"{entry.heading} {sections}".replace("`", " ")
            assert text_of(card.partition(">")[2]) == " ".join(explained.split())


def test_hostile_names_are_escaped_everywhere():
    names = [
        HOSTILE,
        "x" * 10_000,
        "</style><svg onload=alert(1)>",
        *(f"item {i}" for i in range(20)),
    ]
    model = random_model(p=23).replace(right_names=np.array(names))
    audit = ea.audit(model, n_gauges=1, show=names[:3], source=HOSTILE)
    html = page(audit, HOSTILE)
    read(html)
    assert "alert(" in html
    assert not re.search(r"<script>alert|<svg onload|\u202e", html)
    assert "x" * LONGEST not in html
    assert f"{'x' * (LONGEST - 1)}…" in html
    assert "\\u202e" in html


def test_a_notebook_shows_the_answer_the_table_and_the_findings_of_a_page(result, html):
    # A notebook has no end of the page that codes could link to.
    without_links = re.sub(
        r'<a class="code" href="#EMB\d+">(EMB\d+)</a>',
        r'<span class="code">\1</span>',
        html,
    )
    fragment = result._repr_html_()
    for start, end in (
        ('<p class="answer">', "</p>"),
        ('<article class="card finding', "</article>"),
        ("<caption>At a", "</table>"),
    ):
        assert without_links.split(start)[1].split(end)[0] in fragment
    assert fragment.count("<article") == len(result.findings)
    assert "explorer" not in fragment
    assert ' id="' not in fragment
