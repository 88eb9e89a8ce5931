"""Work announces its steps to whoever asked to hear, and to nobody else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from embaudit.foundation.progress import reporting, track


class Recorder:
    """A reporter that writes down what it was told and how far the steps came."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int | None]] = []
        self.steps: list[object] = []

    def __call__(self, steps: Iterable[object], description: str, total: int | None) -> Iterator[object]:
        self.told.append((description, total))
        for step in steps:
            self.steps.append(step)
            yield step


def test_steps_pass_unchanged_with_and_without_a_reporter() -> None:
    recorder = Recorder()
    assert list(track(range(3), "silent")) == [0, 1, 2]
    with reporting(recorder):
        assert list(track(range(3), "counting", 3)) == [0, 1, 2]
        assert list(track(iter("ab"), "spelling")) == ["a", "b"]
    assert recorder.told == [("counting", 3), ("spelling", None)]
    assert recorder.steps == [0, 1, 2, "a", "b"]


def test_the_reporter_before_comes_back_even_after_an_error() -> None:
    outer, inner = Recorder(), Recorder()
    with reporting(outer):
        with pytest.raises(ZeroDivisionError), reporting(inner):
            raise ZeroDivisionError
        list(track("a", "outer"))
        with reporting(None):
            list(track("b", "nobody"))
    list(track("c", "nobody"))
    assert (outer.told, inner.told) == ([("outer", None)], [])


def test_steps_are_announced_as_they_are_taken() -> None:
    recorder = Recorder()
    with reporting(recorder):
        steps = track(range(10), "stopping early")
        next(steps)
    assert recorder.steps == [0]
