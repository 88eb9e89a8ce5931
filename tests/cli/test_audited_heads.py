"""`embaudit audit --kind head` on real heads: it alarms where the origin decides neighbours and is quiet elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file


@pytest.mark.usefixtures("without_attacks")
@pytest.mark.parametrize(("name", "changed"), [("shakespeare", 0.35), ("charlotte_bronte", 0.25)])
def test_character_models_alarm(embaudit, shared_data, name, changed):
    folder = shared_data(f"heads-charrnn/{name}")
    files = (folder / "head.npz", "--kind", "head", "--labels", folder / "vocab.json")
    result = embaudit("audit", *files, "--json", "a.json", "--gauges", 1, "--fail-on", "issue")
    assert result.code == 1
    found = json.loads(Path("a.json").read_text())
    assert "EMB301" in [finding["code"] for finding in found["findings"]]
    assert found["head"]["neighbours"]["top1_changed"] == pytest.approx(changed, abs=0.006)
    assert "so the origin that cosines are measured from is a convention" in found["verdict"]
    assert all(record["ok"] for record in found["drift"])


@pytest.mark.usefixtures("without_attacks")
def test_the_image_classifier_is_quiet_about_translation_and_says_why(embaudit, shared_data):
    folder = shared_data("head-doodlenet-345")
    files = (folder / "head.npz", "--kind", "head", "--labels", folder / "class_names.txt")
    result = embaudit("audit", *files, "--json", "a.json", "--gauges", 1, "--fail-on", "issue")
    found = json.loads(Path("a.json").read_text())
    assert result.code == 0, found["findings"]
    assert "EMB301" not in [finding["code"] for finding in found["findings"]]
    assert found["head"]["neighbours"]["top1_changed"] < 0.02
    assert "Centring changes little: " in found["verdict"]


@pytest.mark.parametrize(("name", "changed"), [("off_centre", 0.3375), ("nearly_centred", 0.0125)])
def test_drawn_heads_alarm_or_are_quiet(embaudit, drawn_heads, name, changed):
    file = drawn_heads / f"{name}.csv"
    result = embaudit("audit", file, "--kind", "head", "--json", "a.json", "--gauges", 1, "--fail-on", "issue")
    found = json.loads(Path("a.json").read_text())
    alarms = name == "off_centre"
    assert result.code == alarms
    assert ("EMB301" in [finding["code"] for finding in found["findings"]]) == alarms
    assert found["head"]["neighbours"]["top1_changed"] == changed
    assert ("so the origin that cosines are measured from is a convention" in found["verdict"]) == alarms
    assert ("Centring changes little: " in found["verdict"]) != alarms
    assert all(record["ok"] for record in found["drift"])


@pytest.fixture
def head(tmp_path):
    draw = np.random.default_rng(0)
    np.savez(tmp_path / "head.npz", W=draw.standard_normal((30, 6)) + 1.5, b=draw.standard_normal(30))
    return "head.npz"


@pytest.mark.usefixtures("without_attacks")
def test_declared_guards_change_the_verdict(embaudit, head):
    plain, capped, unit = (
        " ".join(
            embaudit("audit", head, "--full", "--kind", "head", "--gauges", 1, *options).out.replace("│", " ").split()
        )
        for options in ((), ("--soft-cap", 30), ("--normalised",))
    )
    assert "EMB301" in plain
    assert "random translations" in plain or "translation" in plain
    for text in (capped, unit):
        assert "EMB301" not in text
        assert "EMB305" in text


@pytest.mark.usefixtures("without_attacks")
def test_a_checkpoint_is_audited_with_the_cap_of_its_configuration(embaudit, tmp_path):
    draw = np.random.default_rng(0)
    weights = (draw.standard_normal((30, 6)) + 1.5).astype(np.float32)
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    save_file({"lm_head.weight": weights}, folder / "model.safetensors")
    found = {}
    for name, cap, options in (
        ("plain", None, ()),
        ("declared", None, ("--soft-cap", 30)),
        ("configured", 30.0, ()),
        ("other", 30.0, ("--soft-cap", 50)),
    ):
        (folder / "config.json").write_text(json.dumps({"final_logit_softcapping": cap}))
        result = embaudit("audit", folder, "--gauges", 1, "--json", f"{name}.json", *options)
        assert result.code == 0, result.err
        found[name] = json.loads(Path(f"{name}.json").read_text())
    assert found["configured"]["model"]["link"] == "softmax"
    assert "soft-cap of 30" in json.dumps(found["configured"])
    assert "soft-cap of 50" in json.dumps(found["other"])
    assert "soft-cap" not in json.dumps(found["plain"]["head"])
    for part in ("head", "movement", "drift", "findings", "verdict"):
        assert found["configured"][part] == found["declared"][part]
        assert found["configured"][part] != found["plain"][part]
