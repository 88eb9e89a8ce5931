"""The page of an audit: everything in its order, one file, readable without scripts, harmless whatever the names."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape, unescape

import numpy as np
import pytest
from browsing import LOADED, read, read_text, text_of
from models import random_model

import embaudit as ea
from embaudit.auditing.alone import in_titles
from embaudit.auditing.glossary import CODES
from embaudit.model.final_norm import FinalNorm
from embaudit.report.audit_view import audit_view
from embaudit.report.next_steps import Asked
from embaudit.report.page import coded, page, worded
from embaudit.report.summary import movement_grids
from embaudit.report.view import LONGEST, Origin


def sentence(text: str) -> str:
    return text[0].upper() + text[1:]


HOSTILE = '<script>alert("1")</script>\u202e\'&amp;'
ORDER = ("verdict", "findings", "explorer", "movement", "limits", "neighbours", "conventions", "intake", "appendix")


@pytest.fixture(scope="module")
def result():
    model = random_model(scales=([5, 3, 2, 1, 0.5], 1), objective="product")
    return ea.audit(model, n_gauges=2, source="model.npz")


@pytest.fixture(scope="module")
def head():
    draw = np.random.default_rng(0)
    model = ea.FactorModel.from_softmax(draw.standard_normal((40, 4)) + 1, labels=[f"label {i}" for i in range(40)])
    return ea.audit(model, n_gauges=1, final_norm=FinalNorm("rms", [1.0, 2.0, 3.0, 4.0]))


def test_sections_stand_in_their_order(result, head):
    for audit, absent in ((result, {"conventions", "intake"}), (head, {"intake"})):
        ids = [one for one in read(audit.report()).ids if one in ORDER]
        assert ids == [one for one in ORDER if one not in absent]


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
    *said, advice = [statement.text for statement in result.statements]
    assert html.index("<b>What to do</b>") < html.index(f"<p>{advice}</p>") < html.index('id="verdict"')
    part = html.split('id="verdict"')[1].split("</section>")[0]
    assert [read_text(text) for text in re.findall("<p>(.*?)</p>", part)] == said


def test_what_to_type_stands_beside_what_to_do(result, head):
    step = "To write vectors that compare items by what is predicted:"
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


def test_kinds_of_training_have_a_table_where_none_is_known(result, head):
    part = head.report().split('id="verdict"')[1].split("</section>")[0]
    assert "<p>Training: how the model was trained is not known here.</p>" in part
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td></tr>", part)
    assert rows == [
        ("decoupled-decay", "undecided"), ("softmax", "free"), ("softmax-decay", "pinned by the penalty"),
        ("logistic or logistic-decay", "tied to the inputs"),
    ]  # fmt: skip
    assert "kinds of training" not in result.report()
    assert "Training: it minimised squared loss" in result.report()


def test_it_is_said_whose_neighbours_are_shown(result, head):
    model = result.model
    shown = ea.audit(model, n_gauges=1, show=["3"])
    few = ea.audit(random_model(p=6), n_gauges=1, show=["3"])
    texts = [audit_view(audit).picked for audit in (result, head, shown, few)]
    lists = "Each list shows the first 5 of the 10 nearest that figures count."
    bare = "These items go by their number: `--labels FILE` names them, a name a line."
    assert texts == [
        "Of a few items drawn at random from the twentieth with the longest vectors, which have much behind them as a "
        f"rule. {lists} {bare}",
        f"Of the labels whose neighbours change most, so these are no sample; figures over all stand above. {lists}",
        f"Of the items that were asked for. {lists} {bare}",
        f"Of the items that were asked for. {bare}",
    ]
    assert "FILE" not in audit_view(ea.audit(model, n_gauges=1, role="user", show=["3"])).picked
    for audit, text in zip((result, head, shown), texts, strict=False):
        assert text_of(coded(text)) in text_of(audit.report())


def test_commands_in_sentences_are_set_as_code(head):
    assert "`" not in text_of(head.report().split('id="findings"')[1].split("</section>")[0])
    assert "<code>embaudit fix <span>--as</span> folded-centred</code> writes" in head.report()


def test_words_of_the_top_are_explained_there(head):
    words = dict(audit_view(head).words)
    assert {"gauge", "κ", "equal model", "label", "shift"} <= set(words)
    assert words["equal model"].startswith("a model that makes the same predictions as yours")


def test_words_lead_to_what_they_mean_where_each_is_met_first(result):
    html = result.report()
    words = audit_view(result).words
    assert re.findall(r'<dt id="(word-\d+)">(.*?)</dt>', html) == [(f"word-{i}", w) for i, (w, _) in enumerate(words)]
    at, (_, meaning) = next((i, one) for i, one in enumerate(words) if one[0] == "κ")
    link = f'<a class="word" href="#word-{at}" title="{escape(meaning)}">κ</a>'
    assert f"<li>{link}: largest / smallest stretch.</li>" in html
    assert html.split('id="movement"')[1].count(link) >= 1
    text = str(worded("`κ` <κ> Ranges, a range; gauged", [("κ", "a"), ("range", '"b"'), ("gauge", "c")]))
    assert text == (
        '<code>κ</code> &lt;<a class="word" href="#word-0" title="a">κ</a>&gt; '
        '<a class="word" href="#word-1" title="&#34;b&#34;">Ranges</a>, a range; gauged'
    )
    assert str(worded("a `b` <c>", [])) == "a <code>b</code> &lt;c&gt;"


def test_the_table_of_the_top_is_explained_below_it(result, head):
    told = list(audit_view(result).key)
    assert told[:3] == ["Equal models predict the same.", "κ: largest / smallest stretch.", "Widths: medians."]
    assert told[-2:] == ["Users whitened: item cosines are prediction cosines.", "–: not measured."]
    assert "A range holds all that one cosine can be; its width is told of the median pair." in told
    assert not [text for text in audit_view(head).key if "whitened" in text or "–" in text]


def test_what_is_good_of_the_other_side_is_said_below_why(result):
    assert not any("user-user" in text for text in audit_view(result).said)
    whitened = ea.at_exponent(result.model, 1.0).replace(objective="product")
    good = [text for text in audit_view(ea.audit(whitened, n_gauges=1)).said if "user-user" in text]
    assert [re.sub(", but for rounding", "", text).replace(" nearly", "") for text in good] == [
        "The user-user cosines are those of what is predicted."
    ]


def test_tables_of_movement_say_what_bounds_a_model_and_what_was_searched_for(result, head):
    bound, searched = audit_view(result).on_movement
    assert bound == (
        "κ is the largest over the smallest stretch of an axis. Named models stretch as far as they must; random ones "
        "and searches keep to the budget, κ = 2 (--max-condition)."
    )
    assert searched.startswith(
        "Models that were searched for are measured here over the pairs and lists of all others."
    )
    part = read_text(result.report().split('id="movement"')[1].split('class="stack"')[0])
    assert bound in part
    assert searched in part
    wide = ea.audit(random_model(n=30, p=20), n_gauges=1, max_condition=3.5, groups=["canonical"])
    assert "κ = 3.5 (" in audit_view(wide).on_movement[0]
    assert len(audit_view(wide).on_movement) == 1 + any("worst" in one.name for one in wide.evidence.equivalents)


def test_answers_are_coloured_by_their_word(result, head):
    made = np.random.default_rng(0)
    pinned = random_model(link="cosine", n=30, p=30)
    chosen = random_model(objective="factors")
    assert f'<b class="no">{head.answer.word}' in head.report()
    for model, kind in ((pinned, "yes"), (ea.FactorModel.from_vectors(made.standard_normal((20, 3))), "unsaid")):
        assert f'<b class="{kind}">' in ea.audit(model, n_gauges=1).report()
    balanced = ea.at_exponent(chosen, 0.5).replace(objective="factors")
    assert '<b class="convention">AS A CONVENTION.</b>' in ea.audit(balanced, n_gauges=1).report()


def test_every_finding_has_its_card_with_what_to_do(result):
    html = result.report()
    assert [finding.code for finding in result.findings] == re.findall(r'class="code" href="#EMB\d+">(EMB\d+)<', html)
    for finding in result.findings:
        card = html.split(f">{finding.code}<")[1].split("</article>")[0]
        assert f"<p>{finding.explanation}</p>" in card
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


def test_codes_are_told_in_the_words_of_the_model():
    draw = np.random.default_rng(0)
    biased = ea.FactorModel.from_softmax(draw.standard_normal((40, 4)), draw.standard_normal(40))
    card = ea.audit(biased, n_gauges=1).report().split('id="EMB202"')[1].split("</article>")[0]
    assert "the label bias takes no part in the cosines" in card
    assert "item" not in text_of(card)


def test_a_page_without_findings_explains_no_code():
    clean = ea.audit(random_model(link="cosine", n=30, p=30), n_gauges=1)
    assert clean.findings == ()
    assert "codes of the findings" not in clean.report()


def test_what_a_notebook_shows_links_nowhere(result):
    assert read(result._repr_html_()).links == []
    assert f'<span class="code">{result.findings[0].code}</span>' in result._repr_html_()


def test_every_claim_is_in_the_appendix_with_kind_scope_and_evidence(result):
    part = result.report().split('aria-label="claims"')[1].split("</table>")[0]
    rows = [text_of(row) for row in part.split("<tr>")[2:]]
    for row, claim in zip(rows, result.claims, strict=True):
        value = "" if claim.value is None else f" {claim.value:.4g}"
        assert row == f"{claim.kind} {claim.subject} {claim.scope} {claim.text} {claim.evidence}{value}".strip()


def test_the_appendix_tells_how_the_audit_was_made(result):
    facts = dict(audit_view(result).facts)
    assert facts == {
        "model": "40 users × 30 items, rank 5, identity link, float64",
        "input": "model.npz",
        "fingerprint": result.fingerprint,
        "equal models visited": "10",
        "budget": "κ ≤ 2",
        "seed": "0",
        "embaudit": ea.__version__,
    }
    for name, value in facts.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in result.report()


def test_neighbours_stand_side_by_side_with_what_went_and_what_is_new(result):
    shown = audit_view(result).neighbours
    for lists, example in zip(shown, result.evidence.examples, strict=True):
        assert [(each.name, each.cosine, each.kept) for each in lists.before] == [
            (f"item {name}", f"{cosine:.2f}", kept)
            for (name, cosine), kept in zip(example.before, example.stay, strict=True)
        ]
        assert [each.kept for each in lists.after] == list(example.stayed)
        card = result.report().split(f"nearest to <bdi>{lists.name}<")[1].split("</article>")[0]
        assert card.count('<li class="went">') == sum(not each.kept for each in lists.before)
        assert card.count('<li class="new">') == sum(not each.kept for each in lists.after)
        assert f"{example.kept} of {len(example.before)} stayed" in card
    assert sum(not each.kept for lists in shown for each in lists.before) > 0


def test_the_glance_is_the_table_of_the_first_screen(result):
    glance = audit_view(result).glance
    assert glance.groups == (("most seen in equal models", 2), ("proven while axes stretch up to κ = 1.5", 2))
    assert [row[0] for row in glance.grid.rows] == ["item-item", "user-user", "user-item"]
    cells = text_of(result.report().split("At a glance")[1].split("</table>")[0])
    assert all(" ".join(row) in cells for row in glance.grid.rows)


def test_a_column_that_holds_shifts_says_so(result, head):
    columns = [grid.headings[1] for audit in (result, head) for grid in movement_grids(audit)]
    assert columns == ["κ"] * 3 + ["κ, shift"]
    (grid,) = movement_grids(head)
    assert any(row[1].endswith(", 1 typical row") for row in grid.rows)


def test_conventions_of_a_language_model_have_their_table(head):
    part = head.report().split('id="conventions"')[1].split("</section>")[0]
    assert "conventions in use: one head behind its RMSNorm (κ = 4)" in part
    assert "<td>as stored</td><td>folded</td>" in part
    assert "mean row removed" in part
    assert "shortest shift of all labels" in part
    assert head.head.argmax.explain() in unescape(part)


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


def test_nothing_is_loaded_from_anywhere(result, head):
    for audit in (result, head):
        html = audit.report()
        assert "default-src 'none'" in html
        assert not re.search(LOADED, html)


def test_a_failed_check_shows_no_table_at_a_glance(result):
    failed = replace(result, evidence=replace(result.evidence, drift=tuple(
        replace(one, max_abs=1.0, tolerance=0.0) for one in result.evidence.drift)))  # fmt: skip
    assert not failed.predictions_hold
    assert audit_view(failed).glance is None
    assert "At a glance" not in failed.report()
