"""The page of an audit: everything in its order, one file, readable without scripts, harmless whatever the names."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest
from browsing import read, read_text, text_of
from models import random_model

import embaudit as ea
from embaudit.auditing.alone import in_titles
from embaudit.auditing.texts import CODES
from embaudit.model.final_norm import FinalNorm
from embaudit.report.audit_document import audit_document
from embaudit.report.document import LONGEST, Origin
from embaudit.report.next_steps import Asked
from embaudit.report.page import coded, page


def sentence(text: str) -> str:
    return text[0].upper() + text[1:]


HOSTILE = '<script>alert("1")</script>\u202e\'&amp;'


@pytest.fixture(scope="module")
def result():
    model = random_model(scales=([5, 3, 2, 1, 0.5], 1), objective="product")
    return ea.audit(model, n_gauges=2, source="model.npz")


@pytest.fixture(scope="module")
def head():
    draw = np.random.default_rng(0)
    model = ea.FactorModel.from_softmax(draw.standard_normal((40, 4)) + 1, labels=[f"label {i}" for i in range(40)])
    return ea.audit(model, n_gauges=1, final_norm=FinalNorm("rms", [1.0, 2.0, 3.0, 4.0]))


def test_every_link_leads_to_a_place_on_the_page_and_ids_are_unique(result, head):
    for audit in (result, head):
        tags = read(audit.report())
        assert {link[1:] for link in tags.links} <= set(tags.ids)
        assert all(link.startswith("#") for link in tags.links)
        assert len(tags.ids) == len(set(tags.ids))


def test_the_top_says_the_answer_why_and_what_to_do(result):
    html = result.report()
    assert f"<h1>{result.answer.question}</h1>" in html
    assert f'<b class="no">{result.answer.word}.</b> <span>{sentence(result.answer.because)}.</span>' in html
    said, advice = [one.text for one in result.reasons if not one.title], result.answer.advice
    assert html.index("<b>What to do</b>") < html.index(f"<p>{advice}</p>") < html.index('id="verdict"')
    part = html.split('id="verdict"')[1].split("</section>")[0]
    assert [read_text(text) for text in re.findall("<p>(.*?)</p>", part)] == said


def test_what_to_type_stands_beside_what_to_do(result, head):
    step = "For vectors that compare items by what is predicted, not by better taste:"
    part = text_of(result.report().split("<b>What to do</b>")[1].split("</div>")[0])
    assert f"{step} embaudit fix model.npz --as prediction --unit --out model-prediction.npz" in part
    assert "--full" not in part
    asked = Asked("a b.npz", ("--weight", "W"), ("--norm", "ln"))
    told = unescape(page(head, "t", Origin(asked=asked)))
    states = "With states of yours from before the final norm (put their file's name for STATES.npy), to write vectors"
    assert f"{states} that compare labels by their logits:" in text_of(told)
    assert (
        "embaudit fix 'a b.npz' --weight W --states STATES.npy --as prediction --norm ln --unit "
        "--out 'a b-prediction.npz' "
    ) in text_of(told)
    written = "a b-folded-centred.npz"
    assert f"embaudit fix 'a b.npz' --weight W --as folded-centred --norm ln --out '{written}' " in text_of(told)
    # Half of an option, left at the end of a line, is none.
    assert f"<span>--norm</span> ln <span>--out</span> '{written}'</code>" in told
    assert "<pre" not in page(head)


def test_it_is_said_whose_neighbours_are_shown(result, head):
    model = result.model
    shown = ea.audit(model, n_gauges=1, show=["3"])
    few = ea.audit(random_model(p=6), n_gauges=1, show=["3"])
    texts = [audit_document(one, drawn=False).sections[4].said[0] for one in (result, head, shown, few)]
    lists = "Each list shows the first 5 of the 10 nearest that figures count."
    bare = "These items go by their number: `--labels FILE` names them, a name a line."
    assert texts == [
        "Of a few items drawn at random from the twentieth with the longest vectors, which have much behind them as a "
        f"rule. {lists} {bare}",
        f"Of the labels whose neighbours change most, so these are no sample; figures over all stand above. {lists}",
        f"Of the items that were asked for. {lists} {bare}",
        f"Of the items that were asked for. {bare}",
    ]
    user = audit_document(ea.audit(model, n_gauges=1, role="user", show=["3"]), drawn=False)
    assert "FILE" not in user.sections[4].said[0]
    for audit, text in zip((result, head, shown), texts, strict=False):
        assert text_of(coded(text)) in text_of(audit.report())


def test_every_finding_has_its_card_with_what_to_do(result):
    html = result.report()
    assert [finding.code for finding in result.findings] == re.findall(r'class="code" href="#EMB\d+">(EMB\d+)<', html)
    for finding in result.findings:
        card = html.split(f">{finding.code}<")[1].split("</article>")[0]
        assert f"<p>{finding.text}</p>" in card
        assert f"<b>What to do</b>{finding.remedy}</p>" in card
        assert f"<h3>{finding.title[0].upper()}{finding.title[1:]}</h3>" in card


def test_every_code_of_a_finding_leads_to_what_explain_says_of_it(result, head):
    for audit in (result, head):
        html = audit.report()
        tags = read(html)
        codes = list(dict.fromkeys(finding.code for finding in audit.findings))
        assert [link[1:] for link in tags.links if link.startswith("#EMB")] == [one.code for one in audit.findings]
        assert [one for one in tags.ids if one.startswith("EMB")] == codes
        for name in codes:
            card = html.split(f'id="{name}"')[1].split("</article>")[0]
            told = " ".join(f"{heading} {text}" for heading, text in CODES[name].sections)
            assert text_of(card.partition(">")[2]) == " ".join(
                in_titles(audit.model, f"{CODES[name].heading} {told}").replace("`", " ").split()
            )


def test_what_a_notebook_shows_links_nowhere(result):
    assert read(result._repr_html_()).links == []
    assert f'<span class="code">{result.findings[0].code}</span>' in result._repr_html_()


def test_every_conclusion_is_in_the_appendix_with_kind_scope_and_number(result):
    part = result.report().split('aria-label="conclusions"')[1].split("</table>")[0]
    rows = [text_of(row) for row in part.split("<tr>")[2:]]
    for row, one in zip(rows, result.conclusions, strict=True):
        value = "" if one.value is None else f" {one.value:.4g}"
        assert row == f"{one.code} {one.kind} {one.rows} {one.scope} {one.text}{value}".strip()


def test_what_was_read_is_listed_with_what_was_left_over(tmp_path):
    draw = np.random.default_rng(0)
    np.savez(tmp_path / "m.npz", P=draw.standard_normal((9, 2)), Q=draw.standard_normal((8, 2)), spare=np.ones(3))
    read_ = ea.audit(tmp_path / "m.npz", n_gauges=1)
    part = read_.report().split('id="intake"')[1].split("</section>")[0]
    assert read_.intake.explain() in unescape(part)
    assert "<bdi>P (9 × 2)</bdi></td><td>left factors</td>" in part
    assert "<bdi>spare (3)</bdi></td><td>left over</td>" in part


def test_hostile_names_stay_harmless_in_every_place():
    names = [HOSTILE, "x" * 10_000, "</style><svg onload=alert(1)>", *(f"item {i}" for i in range(20))]
    model = random_model(p=23).replace(right_names=np.array(names))
    audit = ea.audit(model, n_gauges=1, show=names[:3], source=HOSTILE)
    html = page(audit, HOSTILE)
    read(html)
    assert "alert(" in html
    assert not re.search(r"<script>alert|<svg onload|\u202e", html)
    assert "x" * LONGEST not in html
    assert f"{'x' * (LONGEST - 1)}…" in html
    assert "\\u202e" in html
