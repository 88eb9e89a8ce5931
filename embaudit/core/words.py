"""Numbers and names as texts for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches

from embaudit.core.tolerances import BOUND_ROUNDING, TIE
from embaudit.errors import escaped

SMALLEST_SHARE = 0.001
"""Share below which a percentage with one decimal is written as "<0.1 %"."""
MOST_DECIMALS = 6
"""Largest number of decimals of a percentage; one pair in a hundred million shows."""
FEW = 20
"""A share of fewer rows is written as a number of rows, each of which is above 5 %."""


def snapped(value: float) -> float:
    """Round a number to 9 decimals, before it is rounded to the few that are printed.

    A number half way between two printed ones is then printed in one way, whatever its
    last bits are.

    Examples
    --------
    >>> below, above = 0.125 - 2**-55, 0.125 + 2**-55
    >>> f"{below:.2f}", f"{above:.2f}"
    ('0.12', '0.13')
    >>> f"{snapped(below):.2f}", f"{snapped(above):.2f}"
    ('0.12', '0.12')
    """
    return round(float(value), 9)


def change_size(change: float) -> str:
    """Write the size of a change of predictions, without digits that are only rounding.

    Examples
    --------
    >>> change_size(2e-15), change_size(0.0), change_size(3e-4)
    ('<1e-09', '<1e-09', '3e-04')
    """
    if change < TIE:
        return f"<{TIE:.0e}"
    return f"{change:.0e}"


def percent(share: float) -> str:
    """Write a share, which is never rounded to 0 % or 100 %. NaN becomes a dash.

    Examples
    --------
    >>> percent(0.431), percent(0.9996), percent(1.0), percent(float("nan"))
    ('43 %', '99.9 %', '100 %', '–')
    >>> percent(0.0274 / 100), percent(0.001)
    ('<0.1 %', '0.1 %')
    """
    return _percent_text(share, _percentage_decimals(share))


def percents_alike(shares: Sequence[float]) -> list[str]:
    """Write shares with the same number of decimals: 1 if a share is near 0 % or 100 %.

    Shares of exactly 0 and 1 need no decimals.

    Examples
    --------
    >>> percents_alike([0.0096, 0.006, 0.013]), percents_alike([0.4, 0.38, 0.42])
    (['1.0 %', '0.6 %', '1.3 %'], ['40 %', '38 %', '42 %'])
    >>> percents_alike([0.985, 0.97, 1.0])
    ['98 %', '97 %', '100 %']
    """
    decimals = max(map(_percentage_decimals, shares), default=0)
    return [_percent_text(share, decimals) for share in shares]


def percent_with_interval(
    share: float, interval: tuple[float, float], limits: Sequence[float] = ()
) -> str:
    """Write a share and its 95 % interval, or only the share if its figures show none.

    With limits, the figures have enough decimals to show on which side of each limit
    the share and the ends of its interval lie.

    Examples
    --------
    >>> percent_with_interval(0.0096, (0.006, 0.013))
    '1.0 % (0.6 % to 1.3 %)'
    >>> percent_with_interval(0.25, (0.25, 0.25))
    '25 %'
    >>> percent_with_interval(0.96, (0.948, 0.972), limits=[0.8, 0.95])
    '96.0 % (94.8 % to 97.2 %)'
    >>> percent_with_interval(0.96, (0.94996, 0.97), limits=[0.8, 0.95])
    '96.000 % (94.996 % to 97.000 %)'
    >>> percent_with_interval(0.948, (0.948, 0.948), limits=[0.8, 0.95])
    '94.8 %'
    """
    shares = [share, *interval]
    decimals = max(map(_percentage_decimals, shares))
    while decimals < MOST_DECIMALS and _hides_a_side(shares, limits, decimals):
        decimals += 1
    text, low, high = [_percent_text(value, decimals) for value in shares]
    if text != low or text != high:
        return f"{text} ({low} to {high})"
    # An interval of one point shows nothing, so it adds no decimals.
    if limits:
        nearest = min(limits, key=lambda limit: abs(limit - share))
        return percent_by_limit(share, nearest)
    return percent(share)


def _hides_a_side(
    shares: Sequence[float], limits: Sequence[float], decimals: int
) -> bool:
    """Return True if a share would be written as a limit that it does not equal."""
    for limit in limits:
        limit_text = _percent_text(limit, decimals)
        for share in shares:
            looks_like_limit = _percent_text(share, decimals) == limit_text
            if looks_like_limit and snapped(share) != snapped(limit):
                return True
    return False


def _percent_text(share: float, decimals: int) -> str:
    """Write a share with some decimals, never rounded to 0 % or 100 %, or a dash."""
    if math.isnan(share):
        return "–"
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    if 0 < share < SMALLEST_SHARE:
        return "<0.1 %"
    if decimals > 1:
        return _with_decimals(share, decimals)
    return f"{_percentage(share, decimals):.{decimals}f} %"


def _percentage_decimals(share: float) -> int:
    """Return the number of decimals of a percentage: 1 near 0 % and near 100 %."""
    if 0 < share < 0.01 or 0.99 < share < 1:
        return 1
    return 0


def _percentage(share: float, decimals: int) -> float:
    """Round 100 times a share to some decimals. A share below 1 stays below 100."""
    if decimals == 0:
        return round(snapped(100 * share), 0)
    # The share itself is rounded, as in `three_decimals`, so that a sentence and a
    # table never round one share in two ways.
    return min(round(100 * round(snapped(share), 3), 1), 99.9)


def percents_apart(shares: Sequence[float]) -> list[str]:
    """Write shares with enough decimals to tell different shares apart.

    Examples
    --------
    >>> percents_apart([0.12, 0.000274, 0.000061, 0.000061])
    ['12 %', '0.03 %', '<0.01 %', '<0.01 %']
    >>> percents_apart([0.12, 0.000274]), percents_apart([0.431, 0.434])
    (['12 %', '<0.1 %'], ['43.1 %', '43.4 %'])
    """
    texts = [percent(share) for share in shares]
    for decimals in range(1, MOST_DECIMALS + 1):
        for text in set(texts):
            places = [i for i, other in enumerate(texts) if other == text]
            different = {shares[i] for i in places if not math.isnan(shares[i])}
            if len(different) > 1:
                for i in places:
                    texts[i] = _with_decimals(shares[i], decimals)
    return texts


def _with_decimals(share: float, decimals: int) -> str:
    """Write a share with some decimals, which is never rounded to 0 % or 100 %."""
    smallest = 10.0**-decimals
    if 0 < 100 * share < smallest:
        return f"<{smallest:.{decimals}f} %"
    hundredths = 100 * share
    if share < 1:
        hundredths = min(hundredths, 100 - smallest)
    return f"{snapped(hundredths):.{decimals}f} %"


def percent_by_limit(share: float, limit: float) -> str:
    """Write a share with enough decimals to show on which side of a limit it lies.

    Examples
    --------
    >>> percent_by_limit(0.989, 0.99), percent_by_limit(0.98996, 0.99)
    ('98.9 %', '98.996 %')
    >>> percent_by_limit(0.99 - 1e-12, 0.99), percent_by_limit(0.97, 0.99)
    ('99 %', '97 %')
    """
    if snapped(share) == snapped(limit):
        return percent(limit)
    return percents_apart([share, limit])[0]


def share_of(share: float, count: int) -> str:
    """Write a share of some rows, or of fewer than 20 rows their number.

    Examples
    --------
    >>> share_of(0.1, 10), share_of(0.1, 1000)
    ('1 of 10', '10 % of')
    """
    if count < FEW:
        return f"{round(snapped(share * count))} of {count}"
    return f"{percent(share)} of"


def up(bound: float, digits: int = 2) -> float:
    """Round an upper bound up.

    Examples
    --------
    >>> up(0.301), up(0.3 + 1e-12), up(0.49051, 4)
    (0.31, 0.3, 0.4906)
    """
    return math.ceil(10.0**digits * bound - BOUND_ROUNDING) / 10.0**digits


def down(bound: float, digits: int = 2) -> float:
    """Round a lower bound down.

    Examples
    --------
    >>> down(0.309), down(0.3 - 1e-12), down(0.49059, 4), down(-0.92331, 4)
    (0.3, 0.3, 0.4905, -0.9234)
    """
    return math.floor(10.0**digits * bound + BOUND_ROUNDING) / 10.0**digits


def at_least(share: float) -> str:
    """Write a share that is proven, rounded down.

    Examples
    --------
    >>> at_least(0.499), at_least(0.996), at_least(1.0)
    ('49 %', '99 %', '100 %')
    >>> at_least(0.004), at_least(0.0), at_least(float("nan"))
    ('<1 %', '0 %', '–')
    """
    if share >= 0.01:
        return percent(down(share))
    if share > 0:
        return "<1 %"
    return percent(share)


def apportioned(parts: Sequence[float], whole: float, step: float) -> list[float]:
    """Round parts to multiples of `step` that add up to the rounded `whole`.

    Each part is rounded down first. The steps that are then missing from the whole go
    to the parts that lost most by rounding, one step per part (the method of largest
    remainders). Of parts that lost the same, the first ones gain.

    Examples
    --------
    >>> apportioned([0.044, 0.134], 0.18, 0.01), apportioned([0.144, 0.144], 0.29, 0.01)
    ([0.05, 0.13], [0.15, 0.14])
    """
    counts = [math.floor(part / step + BOUND_ROUNDING) for part in parts]
    remainders = [
        snapped(part / step - count) for part, count in zip(parts, counts, strict=True)
    ]
    n_missing = max(0, round(snapped(whole / step)) - sum(counts))
    # `sorted` is stable, so equal remainders stay in the order of the parts.
    by_remainder = sorted(range(len(parts)), key=lambda i: remainders[i], reverse=True)
    for i in by_remainder[:n_missing]:
        counts[i] += 1
    return [round(count * step, 9) for count in counts]


def percents(parts: Sequence[float]) -> list[str]:
    """Write parts of a share such that their figures add up to that of the share.

    Examples
    --------
    >>> percent(0.154 + 0.005), percents([0.154, 0.005])
    ('16 %', ['15 %', '1 %'])
    >>> percents([0.107, 0.376]), percents([0.0])
    (['11 %', '37 %'], ['0 %'])
    >>> percents([0.158, 0.004]), percents([0.002, 0.003])
    (['16 %', '<1 %'], ['0.2 %', '0.3 %'])
    """
    whole = math.fsum(parts)
    if 0 < whole < SMALLEST_SHARE:
        return [percent(share) for share in parts]
    decimals = _percentage_decimals(whole)
    step = 10.0**-decimals
    whole_hundredths = _percentage(whole, decimals)
    hundredths = apportioned([100 * share for share in parts], whole_hundredths, step)
    texts = []
    for share, rounded in zip(parts, hundredths, strict=True):
        if share and not rounded:
            texts.append(f"<{step:.{decimals}f} %")
        else:
            texts.append(f"{rounded:.{decimals}f} %")
    return texts


def three_digits(value: float) -> str:
    """Write a whole or large number in full, and another number with three digits.

    Examples
    --------
    >>> three_digits(1234.5), three_digits(12.0), three_digits(2.8284)
    ('1,234', '12', '2.83')
    """
    value = snapped(value)
    if value == round(value) or value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def three_decimals(value: float) -> str:
    """Write a number with three decimals, whatever its last bits are.

    Examples
    --------
    >>> three_decimals(0.9975), three_decimals(0.9975 - 1e-16), percent(0.9975 - 1e-16)
    ('0.998', '0.998', '99.8 %')
    """
    return f"{snapped(value):.3f}"


def two_decimals(value: float) -> str:
    """Write a number with two decimals and no minus sign before zero.

    Examples
    --------
    >>> two_decimals(-0.001), two_decimals(-0.123)
    ('0.00', '-0.12')
    """
    return in_decimals(value, 2)


def in_decimals(value: float, decimals: int) -> str:
    """Write a number with some decimals and no minus sign before zero.

    Examples
    --------
    >>> in_decimals(-0.00001, 4), in_decimals(0.99312, 4)
    ('0.0000', '0.9931')
    """
    return f"{round(snapped(value), decimals) + 0.0:.{decimals}f}"


def number_by_limit(value: float, limit: float, decimals: int = 2) -> str:
    """Write a number with enough decimals to show on which side of a limit it lies.

    Examples
    --------
    >>> number_by_limit(0.4996, 0.5), number_by_limit(0.5, 0.5)
    ('0.4996', '0.50')
    >>> number_by_limit(0.4967, 0.5), number_by_limit(0.51, 0.5)
    ('0.497', '0.51')
    """
    if snapped(value) == snapped(limit):
        return in_decimals(value, decimals)
    while in_decimals(value, decimals) == in_decimals(limit, decimals):
        decimals += 1
    return in_decimals(value, decimals)


def copied(count: int) -> str:
    """Count copies.

    Examples
    --------
    >>> copied(1), copied(2000)
    ('1 copy', '2,000 copies')
    """
    noun = "copy" if count == 1 else "copies"
    return f"{count:,} {noun}"


def visible(name: str) -> str:
    r"""Quote a name that would not be seen, such as a space.

    Examples
    --------
    >>> visible("Heat (1995)"), visible(" "), visible("a\n")
    ('Heat (1995)', "' '", "'a\\n'")
    """
    shown = escaped(name)
    if name and name == name.strip() == shown:
        return name
    return f"'{shown}'"


def cut(text: str, most: int) -> str:
    """Shorten a text to at most so many characters.

    Examples
    --------
    >>> cut("Heat (1995)", 11), cut("Heat (1995)", 6)
    ('Heat (1995)', 'Heat …')
    """
    if len(text) <= most:
        return text
    return f"{text[: most - 1]}…"


def row_called(title: str, name: str) -> str:
    """Call a row by its name.

    A number gets the title of the row before it, such as "item". It is quoted if the
    title is empty, because the rows have names.

    Examples
    --------
    >>> row_called("item", "7"), row_called("item", "Heat (1995)")
    ('item 7', 'Heat (1995)')
    >>> row_called("", "300")
    "'300'"
    """
    if not name.isdecimal():
        return visible(name)
    if title:
        return f"{title} {name}"
    return f"'{name}'"


def row_quoted(title: str, name: str) -> str:
    """Quote the name of a row in a sentence. A number gets the title before it.

    Examples
    --------
    >>> row_quoted("label", "183"), row_quoted("label", "cat"), row_quoted("", "3")
    ('label 183', "'cat'", "'3'")
    """
    if title and name.isdecimal():
        return f"{title} {name}"
    return repr(name)


def nearest_to(name: str, names: Iterable[str]) -> str:
    """Write which of the allowed names is most like another name.

    Examples
    --------
    >>> nearest_to("fail_on", ["ignore", "fail-on"])
    'the nearest one is fail-on'
    >>> nearest_to("EMB1O1", ["EMB101", "EMB411"])
    'the nearest one is EMB101'
    """
    close = get_close_matches(name, list(names), n=5, cutoff=0)

    def n_equal_letters(other: str) -> int:
        return sum(a == b for a, b in zip(name, other, strict=False))

    # Of equally close names, take the one with most letters in the same places.
    ratios = [SequenceMatcher(None, name, other).ratio() for other in close]
    n_tied = ratios.count(ratios[0])  # the closest names come first
    return f"the nearest one is {max(close[:n_tied], key=n_equal_letters)}"


def listed(names: Sequence[str], most: int) -> str:
    """Write the first names of a list, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], 3), listed(["a", "b", "c", "d"], 3), listed([], 3)
    ('a, b, c', 'a, b, c and 1 more', '')
    """
    text = ", ".join(names[:most])
    if len(names) > most:
        text += f" and {len(names) - most} more"
    return text


def in_typical_rows(length: float) -> str:
    """Write a length in units of the typical (median) row.

    Examples
    --------
    >>> in_typical_rows(1.0), in_typical_rows(0.1), in_typical_rows(2.66)
    ('1 typical row', '0.1 typical rows', '2.66 typical rows')
    """
    number = f"{length:.3g}"
    if number == "1":
        return "1 typical row"
    return f"{number} typical rows"


def in_millions(count: int) -> str:
    """Write a count in full below a million, and with three digits above.

    Examples
    --------
    >>> in_millions(999_999), in_millions(19_800_123), in_millions(999_999_999)
    ('999,999', '19.8 million', '1 billion')
    """
    if count < 10**6:
        return f"{count:,}"
    rounded = float(f"{count:.3g}")  # 999,999,999 is a billion
    for unit, word in ((10**12, "trillion"), (10**9, "billion")):
        if rounded >= unit:
            return f"{rounded / unit:.3g} {word}"
    return f"{rounded / 10**6:.3g} million"


def drawn_of(count: int, total: int, noun: str) -> str:
    """Write how many of a total were drawn.

    Examples
    --------
    >>> drawn_of(21, 21, "pair"), drawn_of(1, 1, "pair")
    ('all 21 pairs', '1 pair')
    >>> drawn_of(100_000, 19_800_123, "item-item pair")
    '100,000 of 19.8 million item-item pairs'
    """
    if count < total:
        return f"{count:,} of {in_millions(total)} {noun}s"
    if count > 1:
        return f"all {counted(count, noun)}"
    return counted(count, noun)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Write a count with its noun. The plural ends in "s" unless it is given.

    Examples
    --------
    >>> counted(1, "model"), counted(2000, "model")
    ('1 model', '2,000 models')
    >>> counted(0, "matrix", "matrices")
    '0 matrices'
    """
    if count == 1:
        return f"{count:,} {noun}"
    return f"{count:,} {plural or noun + 's'}"
