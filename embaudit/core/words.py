"""Numbers and names as people write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches

from embaudit.errors import escaped


def snapped(value: float) -> float:
    """Round a number to 9 decimals, before it is rounded to the few that are printed.

    A number half way between two printed ones is then printed alike whatever its last
    bits are.

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
    return "<1e-09" if change < 1e-9 else f"{change:.0e}"


def percent(share: float) -> str:
    """Write a share, never rounding to all or nothing; a dash where there is none.

    Examples
    --------
    >>> percent(0.431), percent(0.9996), percent(1.0), percent(float("nan"))
    ('43 %', '99.9 %', '100 %', '–')
    >>> percent(0.0274 / 100), percent(0.001)
    ('<0.1 %', '0.1 %')
    """
    if math.isnan(share):
        return "–"
    if 0 < share < 0.001:
        return "<0.1 %"
    if 0 < share < 0.01 or 0.99 < share < 1:
        # The share itself is rounded, as in `three_decimals`, so that a sentence and a
        # table never round one share in two ways.
        return f"{min(100 * float(three_decimals(share)), 99.9):.1f} %"
    return f"{snapped(100 * share):.0f} %"


def percents_apart(shares: Sequence[float]) -> list[str]:
    """Write shares with as many decimals as it takes to tell different shares apart.

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
            if len({shares[i] for i in places if not math.isnan(shares[i])}) > 1:
                for i in places:
                    texts[i] = _with_decimals(shares[i], decimals)
    return texts


MOST_DECIMALS = 6
"""Decimals of a percentage after which shares count as equal: one pair in a hundred million."""


def _with_decimals(share: float, decimals: int) -> str:
    """Write a share with some decimals, never rounding to all or nothing."""
    smallest = 10.0**-decimals
    if 0 < 100 * share < smallest:
        return f"<{smallest:.{decimals}f} %"
    hundredths = 100 * share
    if share < 1:
        hundredths = min(hundredths, 100 - smallest)
    return f"{snapped(hundredths):.{decimals}f} %"


FEW = 20
"""Number of rows below which a share is told by their number: one of them is worth more than 5 %."""
ROUNDING = 1e-6
"""Part of a hundredth that rounding of a bound may make."""


def share_of(share: float, count: int) -> str:
    """Write a share of some rows; of fewer than 20, where one is worth more than 5 %, their number.

    Examples
    --------
    >>> share_of(0.1, 10), share_of(0.1, 1000)
    ('1 of 10', '10 % of')
    """
    return (
        f"{round(snapped(share * count))} of {count}"
        if count < FEW
        else f"{percent(share)} of"
    )


def up(bound: float, digits: int = 2) -> float:
    """Round an upper bound to some decimals such that it still is one.

    Examples
    --------
    >>> up(0.301), up(0.3 + 1e-12), up(0.49051, 4)
    (0.31, 0.3, 0.4906)
    """
    return math.ceil(10.0**digits * bound - ROUNDING) / 10.0**digits


def down(bound: float, digits: int = 2) -> float:
    """Round a lower bound to some decimals such that it still is one.

    Examples
    --------
    >>> down(0.309), down(0.3 - 1e-12), down(0.49059, 4), down(-0.92331, 4)
    (0.3, 0.3, 0.4905, -0.9234)
    """
    return math.floor(10.0**digits * bound + ROUNDING) / 10.0**digits


def at_least(share: float) -> str:
    """Write a share that is proven, rounded down.

    Examples
    --------
    >>> at_least(0.499), at_least(0.996), at_least(1.0), at_least(0.004), at_least(0.0), at_least(float("nan"))
    ('49 %', '99 %', '100 %', '<1 %', '0 %', '–')
    """
    return (
        percent(down(share))
        if share >= 0.01
        else "<1 %"
        if share > 0
        else percent(share)
    )


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
    counts = [math.floor(part / step + ROUNDING) for part in parts]
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
    >>> percent(0.154 + 0.005), percents([0.154, 0.005]), percents([0.107, 0.376]), percents([0.0])
    ('16 %', ['15 %', '1 %'], ['11 %', '37 %'], ['0 %'])
    >>> percents([0.158, 0.004]), percents([0.002, 0.003])
    (['16 %', '<1 %'], ['0.2 %', '0.3 %'])
    """
    whole = percent(math.fsum(parts)).removesuffix(" %")
    if whole.startswith("<"):
        return [percent(share) for share in parts]
    step, digits = (0.1, 1) if "." in whole else (1, 0)
    shown = apportioned([100 * share for share in parts], float(whole), step)
    return [
        f"{x:.{digits}f} %" if x or not share else f"<{step} %"
        for x, share in zip(shown, parts, strict=True)
    ]


def three_decimals(value: float) -> str:
    """Write a number with three decimals, alike whatever its last bits are.

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


def copied(count: int) -> str:
    """Count copies.

    Examples
    --------
    >>> copied(1), copied(2000)
    ('1 copy', '2,000 copies')
    """
    return f"{count:,} {'copy' if count == 1 else 'copies'}"


def visible(name: str) -> str:
    r"""Quote a name that would not be seen as it is.

    Examples
    --------
    >>> visible("Heat (1995)"), visible(" "), visible("a\n")
    ('Heat (1995)', "' '", "'a\\n'")
    """
    shown = escaped(name)
    return name if name and name == name.strip() == shown else f"'{shown}'"


def cut(text: str, most: int) -> str:
    """Shorten a text that is longer than so many characters.

    Examples
    --------
    >>> cut("Heat (1995)", 11), cut("Heat (1995)", 6)
    ('Heat (1995)', 'Heat …')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def row_called(title: str, name: str) -> str:
    """Call a row by its name; a bare number by what the row is, or in quotes where rows have names, and no title.

    Examples
    --------
    >>> row_called("item", "7"), row_called("item", "Heat (1995)"), row_called("", "300")
    ('item 7', 'Heat (1995)', "'300'")
    """
    return (
        visible(name)
        if not name.isdecimal()
        else f"{title} {name}"
        if title
        else f"'{name}'"
    )


def row_quoted(title: str, name: str) -> str:
    """Quote the name of a row in a sentence, or call it by what it is as `row_called` does.

    Examples
    --------
    >>> row_quoted("label", "183"), row_quoted("label", "cat"), row_quoted("", "3")
    ('label 183', "'cat'", "'3'")
    """
    return f"{title} {name}" if title and name.isdecimal() else repr(name)


def nearest_to(name: str, names: Iterable[str]) -> str:
    """Write which allowed name is most like one that is not.

    Examples
    --------
    >>> nearest_to("fail_on", ["ignore", "fail-on"])
    'the nearest one is fail-on'
    >>> nearest_to("EMB1O1", ["EMB101", "EMB411"])
    'the nearest one is EMB101'
    """
    close = get_close_matches(name, list(names), n=5, cutoff=0)

    def n_equal_letters(other: str) -> int:
        return sum(one == two for one, two in zip(name, other, strict=False))

    # Of names that are equally close, the one with most letters in the same places.
    ratios = [SequenceMatcher(None, name, other).ratio() for other in close]
    tied = [
        other for other, ratio in zip(close, ratios, strict=True) if ratio == ratios[0]
    ]
    return f"the nearest one is {max(tied, key=n_equal_letters)}"


def listed(names: Sequence[str], most: int) -> str:
    """Write names one after the other, the first of them where there are more.

    Examples
    --------
    >>> listed(["a", "b", "c"], 3), listed(["a", "b", "c", "d"], 3), listed([], 3)
    ('a, b, c', 'a, b, c and 1 more', '')
    """
    return ", ".join(names[:most]) + (
        f" and {len(names) - most} more" if len(names) > most else ""
    )


def in_typical_rows(length: float) -> str:
    """Write a length that is told in typical (median) rows.

    Examples
    --------
    >>> in_typical_rows(1.0), in_typical_rows(0.1), in_typical_rows(2.66)
    ('1 typical row', '0.1 typical rows', '2.66 typical rows')
    """
    return f"{length:.3g} typical row{'' if f'{length:.3g}' == '1' else 's'}"


def in_millions(count: int) -> str:
    """Write a count in full below a million, else in three digits.

    Examples
    --------
    >>> in_millions(999_999), in_millions(19_800_123), in_millions(999_999_999)
    ('999,999', '19.8 million', '1 billion')
    """
    for unit, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if count >= unit or float(f"{count:.3g}") >= unit > 10**6:
            return f"{count / unit:.3g} {word}"
    return f"{count:,}"


def drawn_of(count: int, total: int, noun: str) -> str:
    """Write how many of a total were looked at.

    Examples
    --------
    >>> drawn_of(21, 21, "pair"), drawn_of(100_000, 19_800_123, "item-item pair"), drawn_of(1, 1, "pair")
    ('all 21 pairs', '100,000 of 19.8 million item-item pairs', '1 pair')
    """
    if count < total:
        return f"{count:,} of {in_millions(total)} {noun}s"
    return f"all {counted(count, noun)}" if count > 1 else counted(count, noun)


def counted(count: int, noun: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> counted(1, "model"), counted(2000, "model")
    ('1 model', '2,000 models')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
