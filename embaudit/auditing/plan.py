"""What an audit leaves out to stay within a time, decided before it starts and written down with its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from embaudit.auditing.effort import Effort
from embaudit.foundation.durations import duration
from embaudit.foundation.words import counted

SHARES = tuple(0.75**step for step in range(13))
"""What is tried in turn: all that was asked for, three quarters of each number, and so on; last `LEAST`."""
AIM = 0.8
"""Share of the time that is planned with: a forecast may be off."""
NAMED = {
    "n_gauges": ("gauges", "random model", " of each family"),
    "n_pairs": ("pairs", "pair", ""),
    "n_lists": ("lists", "list", ""),
    "n_starts": ("starts", "start", " of an attack"),
    "n_steps": ("steps", "step", " of an attack"),
}
"""Each number by its option, what one of it is called, and of what."""


@dataclass(frozen=True)
class Plan:
    """What was asked for, what is done instead, and how long either was expected to take."""

    time: float
    """Seconds that the audit may take."""
    asked: Effort
    """What was asked for."""
    effort: Effort
    """What is done."""
    whole: float
    """Seconds that what was asked for was expected to take."""
    seconds: float
    """Seconds that what is done is expected to take."""

    @property
    def reduced(self) -> dict[str, tuple[int, int]]:
        """Numbers that are smaller than asked for: as asked, and as done."""
        return self.effort.less_than(self.asked)

    @property
    def options(self) -> str:
        """What repeats the audit, whatever the machine."""
        return " ".join(f"--{NAMED[name][0]} {value}" for name, value in asdict(self.effort).items())

    def explain(self) -> str:
        """Say what is left out, and how to repeat it.

        Examples
        --------
        >>> Plan(60.0, Effort(), Effort(), 20.0, 20.0).explain()
        'All of it was expected to take about 20 s, within 60 s; nothing was left out.'
        """
        if not self.reduced:
            return (
                f"All of it was expected to take about {duration(self.whole)}, {self._beside()}; nothing was left out."
            )
        done = ((*NAMED[name][1:], *numbers) for name, numbers in self.reduced.items())
        parts = (f"{counted(here, one)}{whose} instead of {there:,}" for one, whose, there, here in done)
        return (
            f"All of it was expected to take about {duration(self.whole)}, with fewer samples about "
            f"{duration(self.seconds)}, {self._beside()}: {', '.join(parts)}. The same again: {self.options}."
        )

    def _beside(self) -> str:
        return f"{'within' if self.seconds <= self.time else 'more than'} {duration(self.time)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the `plan` of the audit's JSON."""
        return {
            "time": self.time,
            "whole": self.whole,
            "seconds": self.seconds,
            "asked": asdict(self.asked),
            "done": asdict(self.effort),
            "reduced": list(self.reduced),
            "options": self.options,
        }


def planned(time: float, asked: Effort, seconds: Callable[[Effort], float]) -> Plan:
    """Choose the most that is expected to fit.

    Parameters
    ----------
    time : float
        Seconds.
    asked : Effort
        What is asked for; nothing is raised.
    seconds : callable
        How long an effort is expected to take.

    Examples
    --------
    >>> planned(80.0, Effort(), lambda effort: effort.n_pairs / 1_000).effort
    Effort(n_gauges=5, n_pairs=56250, n_lists=225, n_starts=2, n_steps=12)
    """
    tried = (*(asked.cut(share) for share in SHARES), asked.cut(0.0))
    chosen = next((one for one in tried if seconds(one) <= AIM * time), tried[-1])
    return Plan(time, asked, chosen, seconds(asked), seconds(chosen))
