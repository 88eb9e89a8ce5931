"""Bars show the rate and the remaining time of slow steps, too, and nobody sees them away from a terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from embaudit.cli.terminal import make_bars, progress_bars
from embaudit.foundation.progress import track


def shown(bars):
    """What a terminal of 80 columns shows of the bars."""
    text = StringIO()
    Console(file=text, width=80).print(bars.get_renderable())
    return text.getvalue().strip()


def test_steps_of_a_minute_have_a_rate_and_a_remaining_time():
    now = [0.0]
    bars = make_bars(Console(file=StringIO()))
    bars.get_time = lambda: now[0]
    task = bars.add_task("visiting equal models", total=22)
    assert shown(bars).endswith(" 0 of 22")
    for done in (1, 2, 3):
        now[0] = 60.0 * done
        bars.update(task, completed=done)
    assert shown(bars).startswith("visiting equal models ")
    assert shown(bars).endswith(" 3 of 22, 1.0 a minute, about 19 min left")
    bars.update(task, completed=22)
    now[0] = 300
    assert shown(bars).endswith(" 22 of 22, 4.4 a minute")


def test_a_bar_follows_the_steps_it_is_given_on_a_terminal_only(monkeypatch):
    made = []

    def noted(console):
        made.append(make_bars(console))
        return made[-1]

    monkeypatch.setattr("embaudit.cli.terminal.make_bars", noted)
    with progress_bars(quiet=False):
        assert list(track("abc", "away from a terminal", 3)) == ["a", "b", "c"]
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bars(quiet=True):
        assert list(track("abc", "quietly", 3)) == ["a", "b", "c"]
    assert made == []
    with progress_bars(quiet=False):
        assert list(track("abc", "spelling", 3)) == ["a", "b", "c"]
    assert [(task.description, task.completed, task.total) for task in made[0].tasks] == [("spelling", 3, 3)]
