"""Progress bars appear on a terminal while work is slow."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from io import StringIO

import numpy as np
import pytest

import embaudit as ea
from embaudit.cli.terminal import progress_bars
from embaudit.core.progress import reporting, track


class Recorder:
    """A reporter that writes down what it was told and how far the steps came."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int | None]] = []
        self.steps: list[object] = []

    def __call__(
        self, steps: Iterable[object], description: str, total: int | None
    ) -> Iterator[object]:
        self.told.append((description, total))
        for step in steps:
            self.steps.append(step)
            yield step


def test_a_reporter_sees_each_step_when_it_is_taken() -> None:
    recorder = Recorder()
    with reporting(recorder):
        steps = track(range(10), "stopping early")
        next(steps)
    assert recorder.steps == [0]


def test_an_audit_of_a_head_announces_its_steps_in_order() -> None:
    recorder = Recorder()
    rows = np.random.default_rng(0).normal(size=(12, 3))
    with reporting(recorder):
        ea.audit(
            ea.FactorModel.from_softmax(rows),
            n_gauges=1,
            n_pairs=5,
            n_starts=1,
            n_steps=0,
        )
    descriptions = list(dict.fromkeys(description for description, _ in recorder.told))
    assert descriptions == [
        "finding the span of the rows",
        "measuring heads",
        "drawing equivalent models",
        "sampling pairs and lists",
        "visiting equivalent models",
        "bounding cosines",
        "certifying lists",
        "visiting the worst",
        "comparing neighbours",
    ]


class Screen(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")


def slowly(steps: Iterable[object]) -> Iterator[object]:
    """Take steps that together last longer than the second after which bars appear."""
    for step in steps:
        time.sleep(0.6)
        yield step


def test_a_bar_with_the_time_left_appears_on_a_terminal_while_work_is_slow() -> None:
    with redirect_stderr(Screen()) as screen:
        steps = list(track(slowly("abcd"), "visiting equivalent models", 4))
    assert steps == list("abcd")
    lines = [
        re.sub(r"\x1b\[[0-9;?]*\w", "", line)
        for line in re.split(r"[\r\n]+", screen.getvalue())
    ]
    bars = [line for line in lines if line.startswith("visiting equivalent models")]
    assert re.search(r" 1/4 [-\\d:]+ left *$", bars[0])
    assert re.search(r" 3/4 0:00:0\d left *$", bars[-1])
    assert all(len(line) <= 80 for line in bars)
    assert screen.getvalue().endswith("\x1b[?25h\r"), "the display is gone"


def test_no_bar_appears_for_short_work_or_if_quiet_or_away_from_a_terminal() -> None:
    with redirect_stderr(Screen()) as screen:
        assert list(track("abcd", "short", 4)) == list("abcd")
        with progress_bars(quiet=True):
            list(track(slowly("ab"), "quiet", 2))
    assert screen.getvalue() == ""
    with redirect_stderr(StringIO()) as file:
        list(track(slowly("ab"), "to a file", 2))
    assert file.getvalue() == ""


def test_threads_share_the_display_and_each_has_a_bar() -> None:
    def work(name: str) -> int:
        return len(list(track(slowly("abc"), name, 3)))

    with redirect_stderr(Screen()) as screen, ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, ["one", "two"])) == [3, 3]
    shown = screen.getvalue()
    assert "one" in shown
    assert "two" in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1


def test_the_display_is_removed_when_work_fails() -> None:
    def work() -> None:
        for step in track(slowly("abc"), "failing", 3):
            if step == "b":
                raise ZeroDivisionError

    with redirect_stderr(Screen()) as screen:
        with pytest.raises(ZeroDivisionError) as error:
            work()
        # The traceback keeps the generator alive, and the display is removed anyway.
        assert error.tb is not None
        shown = screen.getvalue()
        assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1
