"""The result of an evaluation: measures of similarities, intervals and a verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices, require_one_of
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.ties import first_best
from embaudit.core.tolerances import TIE
from embaudit.core.words import counted, percent, percents_apart, three_decimals
from embaudit.evaluation.coverage import Coverage
from embaudit.evaluation.list_measures import user_weights
from embaudit.linalg.intervals import jackknife_margin
from embaudit.model import SideName

if TYPE_CHECKING:
    import pandas as pd

MIN_QUERIES = 30
"""Smallest number of queries, or of users, for a verdict.

No interval over fewer of them is narrower than ±0.1 (rule of three)."""
CONFIDENCE = "with 95 % confidence"
"""Words for an interval of a difference from the raw cosine that excludes 0."""
RAW = "cosine"
"""Baseline similarity, the cosine of the stored factors."""
CSLS = "CSLS"
"""The cosine less half the mean cosine of the candidate with its nearest rows."""
PREDICTION = "prediction cosine"
"""The plain cosine of right rows in the left-whitened gauge, and of left rows in the
right-whitened gauge."""
POPULARITY = "popularity"
"""The number of interactions of the candidate, the same for every query."""
MEASURE_TITLES = {
    "precision": "precision",
    "auc": "AUC",
    "ndcg": "NDCG",
    "hit_rate": "hit rate",
    "recall": "recall",
}
"""Titles of measures in sentences and tables."""
SHARES = ("precision", "hit_rate", "recall")
"""Measures that are written in percent."""
WITHOUT_LENGTH = ("auc",)
"""Measures that do not depend on the length of the lists."""


@dataclass(frozen=True, eq=False)
class Evaluation(Result):
    """Measures of every similarity, query by query, with intervals and coverage.

    Examples
    --------
    >>> import embaudit as ea
    >>> items = [[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]]
    >>> labels = ["a", "a", "b", "b"]
    >>> found = ea.evaluate_similarities(items, labels, n_neighbours=1)
    >>> found.measures, found.value("cosine")
    (('precision', 'auc', 'ndcg'), 1.0)
    """

    role: SideName
    """Side of the entities."""
    title: str
    """Title of an entity, such as "item"."""
    n: int
    """Length of the neighbour lists."""
    measures: tuple[str, ...]
    """Names of the measures: precision, auc and ndcg by labels; hit_rate, recall and
    ndcg by interactions."""
    n_candidates: int
    """Number of rows among which neighbours are searched."""
    n_left_out: int
    """Number of rows that lack a label or a direction."""
    queries: Indices
    """(q,) rows whose neighbours were judged. By interactions, a row is a query for
    each user who holds it."""
    by_query: dict[str, NDArray[np.float64]]
    """The measures of each query (q, 3), by similarity."""
    replicates: dict[str, NDArray[np.float64]]
    """Means without each of up to 20 groups (groups, 3), by similarity: groups of
    entities by labels, groups of users by interactions."""
    coverage: dict[str, Coverage]
    """Coverage of the lists of the queries, by similarity."""
    chance: float
    """First measure of a random list: precision by labels, hit rate by interactions."""
    n_rows: int
    """Number of rows of the side."""
    relation: str = "share a label"
    """Verb phrase of two related rows, such as "share a label"."""
    counts: NDArray[np.float64] | None = None
    """(q,) number of interactions of the row of each query; None if unknown."""
    users: Indices | None = None
    """(q,) number of the user of each query, from 0 up; None if judged by labels."""
    user_title: str = "user"
    """Title of a user."""
    n_held_out: int = 0
    """Number of held-out interactions, from which queries are drawn."""

    @cached_property
    def weights(self) -> Floats:
        """(q,) weight of each query in a mean, in which each user counts the same."""
        if self.users is None:
            return np.full(len(self.queries), 1 / len(self.queries))
        return user_weights(self.users)

    @property
    def n_units(self) -> int:
        """Number of users by interactions, and of queries by labels."""
        if self.users is None:
            return len(self.queries)
        return len(np.unique(self.users))

    @property
    def decides(self) -> bool:
        """True if there are enough queries to say which similarity is better."""
        return self.n_units >= MIN_QUERIES

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
        by_interactions = self.users is not None
        return plain_dict(
            {
                "role": self.role,
                "title": self.title,
                "n": self.n,
                "judged_by": "interactions" if by_interactions else "labels",
                "n_candidates": self.n_candidates,
                "n_left_out": self.n_left_out,
                "chance": self.chance,
                "n_rows": self.n_rows,
                "n_queries": len(self.queries),
                "n_users": self.n_units if by_interactions else None,
                "records": self.records(),
                "coverage": self.coverage_records(),
                "by_count": self.by_count(),
                "metrics": self.metrics(),
                "verdict": self.verdict(),
                "explanation": str(self),
            }
        )

    def __repr__(self) -> str:
        first = self.measures[0]
        parts = ", ".join(
            f"{name} {three_decimals(self.value(name, first))}"
            for name in self.by_query
        )
        queries = f"{len(self.queries):,} {self.title}s"
        if self.users is not None:
            queries += f" of {counted(self.n_units, self.user_title)}"
        return (
            f"Evaluation({queries}, {MEASURE_TITLES[first]} at {self.n}: "
            f"{parts}, chance {self.chance:.3f})"
        )

    def value(self, similarity: str, measure: str | None = None) -> float:
        """Return the mean of a measure; by default, of the first measure.

        Each user counts the same if the evaluation is by interactions.
        """
        require_one_of(similarity, "similarity", self.by_query)
        return self._mean(self.by_query[similarity][:, self._place(measure)])

    def _mean(self, values: Floats) -> float:
        """Average over queries; by interactions, per user first and then over users."""
        if self.users is None:
            return float(values.mean())
        sums = np.bincount(self.users, values)
        n_queries = np.bincount(self.users)
        return float((sums / n_queries).mean())

    def best(self, measure: str | None = None) -> str:
        """Return the similarity with the highest mean."""
        return first_best(
            list(self.by_query), lambda name: self.value(name, measure), TIE
        )

    def _place(self, measure: str | None) -> int:
        """Return the column of a measure in `by_query`."""
        if measure is None:
            return 0
        require_one_of(measure, "measure", self.measures)
        return self.measures.index(measure)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per similarity and measure.

        Returns
        -------
        DataFrame
            Columns similarity, measure, value, ci_low and ci_high (95 %, by leaving out
            groups of entities, or of users if judged by interactions), and difference,
            difference_ci_low and difference_ci_high for the difference from the raw
            cosine. The intervals of the differences in one measure hold together: in
            at least 95 % of cases all of them hold the truth, so the best similarity
            can be picked afterwards.
        """
        import pandas as pd

        return pd.DataFrame(self.records())

    def records(self) -> list[dict[str, Any]]:
        """Return one record per similarity and measure, the rows of `to_frame`.

        Columns
        -------
        similarity : str
            Name of the similarity.
        measure : {"precision", "auc", "ndcg", "hit_rate", "recall"}
            Measure.
        value : float
            Mean over the queries; by interactions, the mean over users of the mean over
            the queries of each user.
        ci_low : float
            Lower end of its 95 % interval.
        ci_high : float
            Upper end.
        difference : float
            Difference from the raw cosine.
        difference_ci_low : float
            Lower end of its interval; the intervals of one measure hold together. NaN
            (null in JSON) for the raw cosine itself.
        difference_ci_high : float
            Upper end.
        """
        rows = []
        for name in self.by_query:
            for measure in self.measures:
                value, low, high = self._interval(name, measure)
                difference, least, largest = self._difference(name, measure)
                rows.append(
                    {
                        "similarity": name,
                        "measure": measure,
                        "value": value,
                        "ci_low": low,
                        "ci_high": high,
                        "difference": difference,
                        "difference_ci_low": least,
                        "difference_ci_high": largest,
                    }
                )
        return rows

    def coverage_records(self) -> list[dict[str, Any]]:
        """Return the coverage of the lists of the queries, one record per similarity.

        Columns
        -------
        similarity : str
            Name of the similarity.
        never_listed : float
            Share of the candidates that are in no list of a query.
        popular_places : float
            Share of all places of lists that the most popular tenth of the candidates
            takes, a tenth for random lists. None if popularity is not known.
        """
        return [
            {
                "similarity": name,
                "never_listed": covered.never_listed,
                "popular_places": covered.popular_places,
            }
            for name, covered in self.coverage.items()
        ]

    def by_count(self) -> list[dict[str, Any]]:
        """Return the first measure by the interactions of the queries.

        The list is empty if there are no counts, or if all counts are the same.

        Columns
        -------
        third : {"tail", "middle", "head"}
            The queries with few, some or many interactions.
        similarity : str
            Name of the similarity.
        least : float
            Fewest interactions of these queries.
        most : float
            Most interactions.
        n_queries : int
            Number of these queries.
        measure : {"precision", "hit_rate"}
            The first measure.
        value : float
            Mean over these queries.
        """
        if self.counts is None or self.counts.min() == self.counts.max():
            return []
        # Thirds of the queries, not of the range of counts, which a few popular
        # entities stretch. Queries of one count stay in one third.
        edges = np.quantile(self.counts, [1 / 3, 2 / 3])
        place = np.searchsorted(edges, self.counts, side="left")
        records = []
        for number, third in enumerate(("tail", "middle", "head")):
            is_member = place == number
            if not is_member.any():
                continue
            counts = self.counts[is_member]
            weights = self.weights[is_member]
            for name, values in self.by_query.items():
                value = weights @ values[is_member, 0] / weights.sum()
                records.append(
                    {
                        "third": third,
                        "similarity": name,
                        "least": float(counts.min()),
                        "most": float(counts.max()),
                        "n_queries": int(np.count_nonzero(is_member)),
                        "measure": self.measures[0],
                        "value": float(value),
                    }
                )
        return records

    def metrics(self) -> dict[str, float]:
        """Return all finite numbers under flat names, for a tracker of experiments.

        A name consists of a similarity and a measure, for example
        `prediction_cosine/recall_at_10`, `prediction_cosine/recall_at_10_low` or
        `prediction_cosine/never_listed`. Trackers such as `mlflow.log_metrics` and
        `wandb.log` accept this dictionary.

        Returns
        -------
        dict of str to float
            Names and numbers.
        """
        values: dict[str, float | None] = {
            "n_queries": len(self.queries),
            "n_candidates": self.n_candidates,
            f"chance/{self._metric(self.measures[0])}": self.chance,
        }
        if self.users is not None:
            values["n_users"] = self.n_units
        for record in self.records():
            name = f"{_slug(record['similarity'])}/{self._metric(record['measure'])}"
            values[name] = record["value"]
            values[f"{name}_low"] = record["ci_low"]
            values[f"{name}_high"] = record["ci_high"]
            if record["similarity"] != RAW:
                values[f"{name}_difference"] = record["difference"]
                values[f"{name}_difference_low"] = record["difference_ci_low"]
                values[f"{name}_difference_high"] = record["difference_ci_high"]
        for record in self.coverage_records():
            slug = _slug(record["similarity"])
            values[f"{slug}/never_listed"] = record["never_listed"]
            values[f"{slug}/popular_places"] = record["popular_places"]
        return {
            name: float(value)
            for name, value in values.items()
            if value is not None and isfinite(value)
        }

    def _metric(self, measure: str) -> str:
        """Return the flat name of a measure, with the length of the lists."""
        if measure in WITHOUT_LENGTH:
            return measure
        return f"{measure}_at_{self.n}"

    def _interval(self, name: str, measure: str) -> tuple[float, float, float]:
        """Return the mean of a measure, and the ends of its interval."""
        value = self.value(name, measure)
        replicates = self.replicates[name][:, self._place(measure)]
        margin = self._margin(replicates, n_intervals=1)
        return value, max(0.0, value - margin), min(1.0, value + margin)

    def _difference(self, name: str, measure: str) -> tuple[float, float, float]:
        """Return how much a similarity scores above the raw cosine, and the interval.

        The best similarity is picked after all are measured. So the interval is wide
        enough for the intervals of all similarities to hold at the same time.

        Returns
        -------
        tuple of float
            Mean difference, and the ends of its interval; the ends are NaN for the raw
            cosine itself.
        """
        if name == RAW:
            return 0.0, float("nan"), float("nan")
        return self._apart(name, RAW, measure, len(self.by_query) - 1)

    def _apart(
        self, name: str, other: str, measure: str, n_intervals: int
    ) -> tuple[float, float, float]:
        """Return how much one similarity scores above another, and the interval.

        Each jackknife replicate leaves the same groups out of both similarities.
        """
        place = self._place(measure)
        by_query = self.by_query[name][:, place] - self.by_query[other][:, place]
        replicates = self.replicates[name][:, place] - self.replicates[other][:, place]
        difference = self._mean(by_query)
        margin = self._margin(replicates, n_intervals)
        return difference, max(-1.0, difference - margin), min(1.0, difference + margin)

    def _margin(self, replicates: NDArray[np.float64], n_intervals: int) -> float:
        """Return half the width of an interval, never below the rule of three."""
        # A property that no query or user of n shows can still hold for a share of
        # 3 / n (rule of three), so a value of 1.0 is never certain.
        unseen = -np.log(0.05) / self.n_units
        return float(max(unseen, jackknife_margin(replicates, n_intervals)))

    def better(self, measure: str) -> str | None:
        """Return the best similarity if it is surely better than the cosine.

        A similarity is surely better if the interval of its difference from the cosine
        lies above 0. Return the best of these; None if there is none, or if there are
        too few queries.
        """
        if not self.decides:
            return None
        candidates = []
        for name in self.by_query:
            _, low, _ = self._difference(name, measure)
            if low > 0:
                candidates.append(name)
        if not candidates:
            return None
        return first_best(candidates, lambda name: self.value(name, measure), TIE)

    def explain(self) -> str:
        """Describe in plain words which similarity serves best, and how sure this is.

        The first line is the verdict.
        """
        lines = [self.verdict(), f"{self._sample()} {self._baseline()}"]
        more = [self._popularity()]
        if self.decides:
            more = [
                self._differences(),
                self._rivals(),
                self._worse_prediction(),
                *more,
            ]
        lines.append(" ".join(text for text in more if text))
        return "\n".join(line for line in lines if line)

    def _sample(self) -> str:
        """Say how many queries there are, and how many rows are candidates."""
        if self.users is not None:
            user, item = self.user_title, self.title
            number = f"all {len(self.queries):,}"
            if len(self.queries) < self.n_held_out:
                number = f"{len(self.queries):,} of {self.n_held_out:,}"
            queries = (
                f"{number} held-out {item}s of {counted(self.n_units, user)}; the "
                f"other held-out {item}s of the {user} should be listed"
            )
        else:
            queries = f"{len(self.queries):,} of {counted(self.n_rows, self.title)}"
        if self.n_candidates == self.n_rows:
            return f"Queries: {queries}; neighbours are searched among all."
        reasons = []
        if self.n_candidates + self.n_left_out < self.n_rows:
            reasons.append("drawn at random")
        if self.n_left_out:
            needed = "direction"
            if self.users is None:
                needed = "label or direction"
            reasons.append(f"{self.n_left_out:,} without {needed} are skipped")
        return (
            f"Queries: {queries}; neighbours are searched among "
            f"{self.n_candidates:,} ({', '.join(reasons)})."
        )

    def _baseline(self) -> str:
        """Give the first measure of the raw cosine and of a random list."""
        chance = percent(self.chance).replace("<", "less than ")
        value = percent(self.value(RAW))
        if self.users is not None:
            return (
                f"Of the lists of {self.n} by cosine, {value} hold one of them (hit "
                f"rate); by chance it would be {chance}."
            )
        return (
            f"Of the {self.n} nearest by cosine, {value} {self.relation} with the "
            f"query (precision); by chance it would be {chance}."
        )

    def verdict(self) -> str:
        """Say which similarity serves best by which measure, and what it lists.

        Each similarity that is the best by a measure has a sentence. One more sentence
        names the measures by which no similarity is better than the cosine.
        """
        if not self.decides:
            unit = "queries"
            if self.users is not None:
                unit = f"{self.user_title}s"
            return (
                f"{self.n_units} {unit} are too few to say which similarity is better; "
                f"this needs {MIN_QUERIES}."
            )
        measures_of: dict[str | None, list[str]] = {}
        for measure in self.measures:
            measures_of.setdefault(self.better(measure), []).append(measure)
        without_winner = measures_of.pop(None, [])
        sentences = [
            self._winner(winner, measures)
            for winner, measures in measures_of.items()
            if winner is not None
        ]
        if without_winner:
            titles = _joined([MEASURE_TITLES[name] for name in without_winner], "or")
            sentence = (
                f"By {titles}, no similarity is better than the cosine {CONFIDENCE}"
            )
            if not sentences:
                sentence += f"; {self._listed(RAW)}"
            sentences.append(f"{sentence}.")
        return " ".join(sentences)

    def _winner(self, winner: str, measures: list[str]) -> str:
        """Say by which measures a similarity is better, and what its lists hold."""
        parts: list[str] = []
        for measure in measures:
            value, baseline = _distinct_texts(
                measure, self.value(winner, measure), self.value(RAW, measure)
            )
            # The first pair of numbers says that the second one is the cosine's.
            by_cosine = ""
            if not parts:
                by_cosine = " by cosine"
            title = MEASURE_TITLES[measure]
            parts.append(f"{title} ({value} against {baseline}{by_cosine})")
        name = winner
        if winner == POPULARITY:
            name = "popularity alone"
        confidence = f"{CONFIDENCE} that it is better than the cosine"
        serves = "serves best"
        if any(self.best(measure) != winner for measure in measures):
            serves, confidence = "serves better than the cosine", CONFIDENCE
        return (
            f"By {_joined(parts, 'and')}, {name} {serves}, {confidence}; "
            f"{self._listed(winner)}."
        )

    def _listed(self, name: str) -> str:
        """Say how many items a similarity never lists, next to the raw cosine.

        Only the lists of the queries were searched. If they are a sample of all lists,
        the sentence says how many lists it is about.
        """
        covered, by_cosine = self.coverage[name], self.coverage[RAW]
        never, never_by_cosine = percents_apart(
            [covered.never_listed, by_cosine.never_listed]
        )
        lists = "its lists"
        if name == RAW:
            lists = "lists by cosine"
        n_lists = len(np.unique(self.queries))
        if n_lists < self.n_candidates:
            lists += f" for {counted(n_lists, self.title)}"
        text = f"{lists} never show {never} of the {self.n_candidates:,} {self.title}s"
        of_cosine = f" (cosine: {never_by_cosine})"
        if covered.never_listed == 0:
            text = f"{lists} show all {self.n_candidates:,} {self.title}s"
            of_cosine = f" (cosine never shows {never_by_cosine})"
            if by_cosine.never_listed == 0:
                of_cosine = " (cosine: also all)"
        if name != RAW:
            text += of_cosine
        if covered.popular_places is None or by_cosine.popular_places is None:
            return text
        places, places_by_cosine = percents_apart(
            [covered.popular_places, by_cosine.popular_places]
        )
        text += f", and give {places} of their places to the most popular tenth"
        if name != RAW:
            text += f" (cosine: {places_by_cosine})"
        return text

    def _differences(self) -> str:
        """Give the intervals of the differences behind the verdict."""
        parts = []
        for measure in self.measures:
            best = self.better(measure) or self.best(measure)
            if best == RAW:
                continue
            _, low, high = self._difference(best, measure)
            interval = _interval_text(measure, low, high)
            parts.append(f"{best} {interval} by {MEASURE_TITLES[measure]}")
        if not parts:
            return ""
        comparisons = counted(len(self.by_query) - 1, "comparison")
        return (
            f"Differences from the cosine (95 %, allowing for {comparisons}): "
            f"{_joined(parts, 'and')}."
        )

    def _rivals(self) -> str:
        """Name the similarities that are not surely worse than the winners."""
        # The winner is picked afterwards, so the intervals of all pairs hold together.
        n_similarities = len(self.by_query)
        n_pairs = n_similarities * (n_similarities - 1) // 2
        rivals: dict[str, dict[str, list[str]]] = {}
        for measure in self.measures:
            winner = self.better(measure)
            if winner is None:
                continue
            for name in self.by_query:
                if name in (winner, RAW):
                    continue
                _, low, _ = self._apart(winner, name, measure, n_pairs)
                if low <= 0:
                    names = rivals.setdefault(winner, {})
                    names.setdefault(name, []).append(MEASURE_TITLES[measure])
        sentences = []
        for winner, names in rivals.items():
            parts = [f"{name} ({', '.join(titles)})" for name, titles in names.items()]
            sentences.append(
                f"Not surely worse than {winner}: {_joined(parts, 'and')}."
            )
        return " ".join(sentences)

    def _popularity(self) -> str:
        """Say how well popularity alone does, or why this is not known."""
        if POPULARITY not in self.by_query:
            if self.users is None:
                return ""
            return (
                "Popularity alone is not judged, because the numbers of interactions "
                f"behind the {self.title}s are not known."
            )
        parts = [
            f"{MEASURE_TITLES[name]} {_value_text(name, self.value(POPULARITY, name))}"
            for name in self.measures
        ]
        return f"Popularity alone reaches {_joined(parts, 'and')}."

    def _worse_prediction(self) -> str:
        """Name the measures by which the prediction cosine is worse.

        An audit recommends the prediction cosine because predictions fix it, and not
        because its lists are better.
        """
        if PREDICTION not in self.by_query:
            return ""
        worse = []
        for measure in self.measures:
            _, _, high = self._difference(PREDICTION, measure)
            if high < 0:
                worse.append(MEASURE_TITLES[measure])
        if not worse:
            return ""
        return f"The {PREDICTION} is worse by {_joined(worse, 'and')} {CONFIDENCE}."


def _slug(name: str) -> str:
    """Write a name in lower case, with underscores.

    Examples
    --------
    >>> _slug("right-whitened cosine")
    'right_whitened_cosine'
    """
    return re.sub(r"\W+", "_", name).lower()


def _joined(parts: list[str], word: str) -> str:
    """Join parts with commas, and the last one by a word.

    Examples
    --------
    >>> _joined(["a", "b", "c"], "and"), _joined(["a"], "and")
    ('a, b and c', 'a')
    """
    if len(parts) == 1:
        return parts[0]
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def _value_text(measure: str, value: float) -> str:
    """Write a value of a measure, in percent if it is a share."""
    if measure in SHARES:
        return percent(value)
    return three_decimals(value)


def _distinct_texts(measure: str, value: float, other: float) -> list[str]:
    """Write two values of a measure so that they look different if they are."""
    if measure in SHARES:
        return percents_apart([value, other])
    return [three_decimals(value), three_decimals(other)]


def _interval_text(measure: str, low: float, high: float) -> str:
    """Write the interval of a difference.

    Examples
    --------
    >>> _interval_text("recall", 0.01, 0.02), _interval_text("auc", 0.01, 0.02)
    ('+1 to +2 points', '+0.01 to +0.02')
    """
    if measure in SHARES:
        return f"{100 * low:+.2g} to {100 * high:+.2g} points"
    return f"{low:+.2g} to {high:+.2g}"
