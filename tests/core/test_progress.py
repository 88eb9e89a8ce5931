"""Work announces its steps, and bars show them where somebody watches."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embaudit.cli.terminal import progress_bars
from embaudit.core import progress
from embaudit.core.checked import as_seed
from embaudit.core.progress import reporting, track
from embaudit.core.words import percent
from embaudit.errors import EquivalenceError, InputError, must_be


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


def test_steps_are_announced_as_they_are_taken() -> None:
    recorder = Recorder()
    with reporting(recorder):
        steps = track(range(10), "stopping early")
        next(steps)
    assert recorder.steps == [0]


class Screen(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let bars appear after 0.1 s, on 80 columns."""
    monkeypatch.setattr(progress, "DELAY", 0.1)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")


def slowly(steps: Iterable[object]) -> Iterator[object]:
    for step in steps:
        time.sleep(0.25)
        yield step


def test_a_bar_with_the_time_left_appears_on_a_terminal_while_work_is_slow() -> None:
    with redirect_stderr(Screen()) as screen:
        assert list(track(slowly("abcd"), "visiting equivalent models", 4)) == list(
            "abcd"
        )
    lines = [
        re.sub(r"\x1b\[[0-9;?]*\w", "", line)
        for line in re.split(r"[\r\n]+", screen.getvalue())
    ]
    bars = [line for line in lines if line.startswith("visiting equivalent models")]
    assert re.search(r" 0/4 -:--:-- left *$", bars[0])
    assert re.search(r" 3/4 0:00:0\d left *$", bars[-1])
    assert all(len(line) <= 80 for line in bars)
    assert screen.getvalue().endswith("\x1b[?25h\r"), "the display is gone"


def test_no_bar_appears_for_short_work_nor_where_none_is_wanted_nor_away_from_a_terminal() -> (
    None
):
    with redirect_stderr(Screen()) as screen:
        assert list(track("abcd", "short", 4)) == list("abcd")
        with progress_bars(quiet=True):
            list(track(slowly("ab"), "quiet", 2))
    assert screen.getvalue() == ""
    with redirect_stderr(StringIO()) as file:
        list(track(slowly("ab"), "to a file", 2))
    assert file.getvalue() == ""


def test_threads_share_the_display_and_each_has_a_bar() -> None:
    with redirect_stderr(Screen()) as screen, ThreadPoolExecutor(2) as pool:
        assert list(
            pool.map(
                lambda name: len(list(track(slowly("abc"), name, 3))), ["one", "two"]
            )
        ) == [3, 3]
    shown = screen.getvalue()
    assert "one" in shown
    assert "two" in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1


def test_the_display_goes_when_work_fails_whoever_still_holds_its_error() -> None:
    def work() -> None:
        for step in track(slowly("abc"), "failing", 3):
            if step == "b":
                raise ZeroDivisionError

    with redirect_stderr(Screen()) as screen:
        with pytest.raises(ZeroDivisionError) as error:
            work()
        assert error.tb is not None
        assert (
            screen.getvalue().count("\x1b[?25l")
            == screen.getvalue().count("\x1b[?25h")
            == 1
        )


WORDS = st.text(st.characters(categories=["L"]), min_size=1)


@given(WORDS, WORDS, WORDS, WORDS)
def test_the_sentence_has_four_parts(
    name: str, allowed: str, got: str, remedy: str
) -> None:
    assert (
        str(must_be(name, allowed, got, remedy))
        == f"{name} must be {allowed}; got {got}; {remedy}."
    )
    assert str(must_be(name, allowed, got)) == f"{name} must be {allowed}; got {got}."


def test_kinds() -> None:
    assert issubclass(InputError, ValueError)
    assert issubclass(EquivalenceError, InputError)
    assert type(must_be("a", "b", "c")) is InputError


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0 %"), (0.0001, "0.1 %"), (0.0099, "1.0 %"), (0.01, "1 %"), (0.5, "50 %"), (0.99, "99 %"),
        (0.9901, "99.0 %"), (0.99999, "99.9 %"), (1.0, "100 %"), (np.nan, "–"),
    ],
)  # fmt: skip
def test_shares_are_never_rounded_to_all_or_nothing(share, said):
    assert percent(share) == said


def test_seeds_are_kept_and_drawn_ones_can_be_given_again():
    assert as_seed(np.int64(7)) == 7
    assert 0 <= as_seed(None) < 2**31
    draw = np.random.default_rng(0)
    assert as_seed(draw) == np.random.default_rng(0).integers(2**31)
