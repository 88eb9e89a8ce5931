"""The answer: whether predictions fix the cosines, in a word, and why in a sentence.

The function `decide` finds the answer from the diagnosis. The reason quotes findings of
the same audit, so an answer says no more than they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from embaudit.auditing.certainty import Certainty, certainty_of
from embaudit.auditing.diagnosis import (
    CONVENTIONS,
    Agreement,
    Case,
    Diagnosis,
    Missing,
    Origin,
)
from embaudit.auditing.wording import Nouns, is_head
from embaudit.core.answer_word import AnswerWord
from embaudit.model import Equivalence, FactorModel

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.finding import Finding


WITHIN = "This holds within this model; never compare cosines of two models."
"""Sentence below every YES and BY CONVENTION."""
JUDGE_BY_LABELS = "`embaudit evaluate FILE --items TITLES --truth COLUMN`"
"""Command that judges the quality of similarities, with every argument it needs."""
JUDGE_BY_INTERACTIONS = "`embaudit evaluate FILE --interactions HELD-OUT`"
"""The command for models of users and items, whose interactions are always known."""


@dataclass(frozen=True)
class Answer:
    """Answer to the question if the predictions fix the cosines."""

    word: AnswerWord
    """The answer."""
    because: str
    """The reason, in a sentence without its capital."""
    findings: tuple[str, ...]
    """Codes of the findings that the answer is drawn from."""
    cosines: str
    """The kind of cosines that the answer is about."""
    advice: str
    """The advice that follows; empty where nothing can be trusted."""
    certainty: Certainty
    """How sure the answer is, and why."""
    quality_command: str = JUDGE_BY_LABELS
    """Command that judges the quality of the similarities, in backticks."""

    @property
    def question(self) -> str:
        """The question that is answered."""
        return f"Are these {self.cosines} fixed by what the model predicts?"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences below the answer: how sure it is, and which questions stay open."""
        how_sure = f"How sure: {self.certainty.text}."
        # The commands name every argument that they need, in two lines of 80 columns.
        not_answered = (
            f"Quality is judged by {self.quality_command}, not here. Retraining "
            "changes cosines, too: `embaudit compare FILE OTHER_SEED`."
        )
        if self.word in (AnswerWord.YES, AnswerWord.BY_CONVENTION):
            return (how_sure, WITHIN, not_answered)
        return (how_sure, not_answered)

    def __str__(self) -> str:
        return f"{self.word}: {self.because}."


@dataclass(frozen=True)
class Basis:
    """Everything from which an answer is decided and written."""

    model: FactorModel
    """The audited model."""
    diagnosis: Diagnosis
    """The cause of the cosines, and measurements of them."""
    nouns: Nouns
    """Nouns for the rows and predictions of the model."""
    declared: str
    """The declared training and who declared it, as `declared_training` writes it."""
    findings: Mapping[str, Finding]
    """The findings and notes about these cosines, by code."""

    def title(self, code: str) -> str:
        """Return the title of a finding."""
        return self.findings[code].title

    def sentence(self, code: str) -> str:
        """Return the text of a finding without its full stop."""
        return self.findings[code].sentence

    def clause(self, code: str) -> str:
        """Return the text of a finding, written to follow a comma or a colon."""
        return self.findings[code].clause

    def answer(
        self, word: AnswerWord, because: str, codes: tuple[str, ...], advice: str
    ) -> Answer:
        """Make an answer that is drawn from some findings."""
        findings = [self.findings[code] for code in codes]
        certainty = certainty_of(
            word, findings, self.model, self.diagnosis, self.declared
        )
        return Answer(
            word,
            because,
            codes,
            self.nouns.cosines,
            advice,
            certainty,
            _quality_command(self.model),
        )


def _quality_command(model: FactorModel) -> str:
    """Return the command that judges the quality of the similarities of a model.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> _quality_command(FactorModel.from_user_item([[1.0]], [[1.0]]))
    '`embaudit evaluate FILE --interactions HELD-OUT`'
    >>> _quality_command(FactorModel.from_vectors([[1.0]]))
    '`embaudit evaluate FILE --items TITLES --truth COLUMN`'
    """
    if model.left is not None and model.title("left") == "user":
        return JUDGE_BY_INTERACTIONS
    return JUDGE_BY_LABELS


def answer(evidence: Evidence, conclusions: Iterable[Finding]) -> Answer:
    """Answer for the cosines that an audit was asked about.

    Parameters
    ----------
    evidence : Evidence
        The evidence with its diagnosis.
    conclusions : iterable of Finding
        All findings and notes that were drawn from the evidence.
    """
    role = evidence.role
    findings = {
        finding.code: finding for finding in conclusions if finding.role in (None, role)
    }
    nouns = Nouns.from_model(evidence.model, role)
    basis = Basis(
        evidence.model,
        evidence.diagnosis,
        nouns,
        evidence.declared_training,
        findings,
    )
    return decide(basis)


def decide(basis: Basis) -> Answer:
    """Decide the answer: first defects of the input, then freedom, then training."""
    found = basis.diagnosis
    is_wrong = not found.predictions_hold or found.differs_from_baseline
    if is_wrong or found.contradicts_source or found.has_two_spaces or found.is_data:
        return _check_first(basis)
    if found.freedom.moves is None:
        return _undecided(basis)
    if found.freedom.moves is False or found.case is Case.MADE_OF_PREDICTIONS:
        return _fixed(basis)
    return _free(basis)


def _free(basis: Basis) -> Answer:
    """Decide where equivalent models have other cosines.

    Knowledge about this version of the model comes first: whether its cosines equal the
    cosines of its predictions, which of its parts decides them, and whether training
    chose this version.
    """
    found = basis.diagnosis
    if found.case is Case.DISTANCES:
        return _fixed_distances(basis)
    if found.case is Case.TEMPERATURE:
        return _left_open_by_a_temperature(basis)
    if found.agreement is Agreement.EQUAL:
        return _equal_to_predictions(basis)
    if found.unseen_decides:
        return _no(basis, basis.title("EMB203"), "EMB203")
    if found.origin is Origin.DECIDES:
        return _decided_by_the_origin(basis)
    if found.gains_decide:
        because = f"{basis.title('EMB307')}, and changes no probability"
        return _decided_without_a_probability(basis, because, "EMB307")
    if found.case in CONVENTIONS:
        return _chosen_by_training(basis)
    return _chosen_by_nothing(basis)


def _chosen_by_nothing(basis: Basis) -> Answer:
    """Decide where no known cause chose one of the equivalent models.

    The strongest evidence that other cosines are as good comes first.
    """
    found = basis.diagnosis
    if found.lists_differ or found.agreement is Agreement.DIFFERENT:
        return _unlike_predictions(basis)
    if found.is_rearranged:
        return _no(basis, basis.clause("rearranged"), "rearranged")
    if found.case is Case.NO_MINIMUM and found.role == "right":
        because = (
            f"{basis.title('EMB101')} ({basis.declared}). "
            f"{basis.sentence('no_minimum')}"
        )
        return _no(basis, because, "no_minimum", "EMB101")
    if found.agreement is Agreement.NEAR:
        return _near_predictions(basis)
    if found.case in (Case.FREE, Case.NO_MINIMUM, Case.COSINES_BETWEEN_SIDES):
        return _no(basis, basis.title("EMB101"), "EMB101")
    if found.is_one_side:
        return _of_one_side(basis)
    if found.moves_in_a_visit:
        moved = basis.findings["moved"].value
        return _no(
            basis, f"an equivalent model moves them by {moved:.2f} on average", "moved"
        )
    return _no(basis, "equivalent models may have others")


def _check_first(basis: Basis) -> Answer:
    """Answer where the input must be checked before its cosines can be judged."""
    found, word = basis.diagnosis, AnswerWord.CHECK_FIRST
    if not found.predictions_hold:
        because = "the check failed, as models that should predict the same do not"
        return basis.answer(word, because, ("EMB001",), "")
    if found.differs_from_baseline:
        because = (
            "these predictions are not those of the baseline, so rows or sides may be "
            "mixed up. Check them, or write a new baseline if the change is meant"
        )
        return basis.answer(word, because, ("EMB002",), "")
    if found.contradicts_source:
        because = (
            f"{basis.title('EMB106')}. Whether training chose these cosines depends on "
            "which of the two is right"
        )
        advice = (
            "If the file is right, do not declare the objective. If the file is wrong, "
            "write another file with the right objective: "
            "`embaudit.save(embaudit.load(FILE, objective=NAME), NEW)`."
        )
        return basis.answer(word, because, ("EMB106",), advice)
    if found.has_two_spaces:
        advice = (
            "Read cosines within one of these parts only, and check if all rows come "
            "from one model."
        )
        return basis.answer(word, basis.title("EMB411"), ("EMB411",), advice)
    advice = (
        "Judge these cosines by where the data come from, or compare the rows by their "
        "predictions."
    )
    return basis.answer(word, basis.clause("data"), ("data",), advice)


def _undecided(basis: Basis) -> Answer:
    """Answer where it is undecided if equivalent models have other cosines."""
    found = basis.diagnosis
    codes: tuple[str, ...]
    if found.comparison_is_unknown:
        codes = ("unit_sides", "undecided")
        because = (
            "all rows have length 1, and it is not declared what training compared: "
            "cosines divided by a learned temperature (`--objective clip`), cosines "
            "(`--objective cosine`) or dot products (`--link identity`)"
        )
    elif found.missing is Missing.ROWS:
        codes = ("undecided", "rows_missing")
        because = basis.clause("rows_missing")
    elif found.missing is Missing.METHOD:
        codes = ("undecided", "untried")
        because = f"{basis.clause('untried')}, so no method here decides it"
    elif found.missing is Missing.OTHER:
        codes = ("undecided", "to_decide")
        because = basis.clause("to_decide")
    else:
        codes = ("undecided",)
        because = (
            "it is not decided whether an equivalent model has other "
            f"{basis.nouns.cosines}, and {found.freedom.deciding}"
        )
    return basis.answer(AnswerWord.UNKNOWN, because, codes, _until_known(basis))


def _fixed(basis: Basis) -> Answer:
    """Answer where predictions fix the cosines, or vectors hold prediction cosines."""
    word, compared = AnswerWord.YES, basis.model.compared
    if basis.diagnosis.case is Case.MADE_OF_PREDICTIONS:
        advice = "Read these cosines as cosines of those predictions."
        return basis.answer(word, basis.clause("made"), ("made",), advice)
    lists = "Use lists of the nearest neighbours."
    if compared == "cosine":
        because = (
            f"who is nearest is fixed, because {basis.clause('together')}. Levels "
            "(such as 0.80) are fixed only if no temperature divided the cosines"
        )
        return basis.answer(word, because, ("pinned", "compared", "together"), lists)
    if compared == "dot":
        because = (
            f"who is nearest is fixed, because {basis.clause('together')}, and their "
            "products are the predictions"
        )
        return basis.answer(word, because, ("pinned", "products", "together"), lists)
    pinned = basis.findings["pinned"]
    because = f"{pinned.rows} are the same in {pinned.scope.all_models}"
    advice = "Read these cosines as part of what the model predicts."
    return basis.answer(word, because, ("pinned",), advice)


def _fixed_distances(basis: Basis) -> Answer:
    """Answer where training compared rows by distance."""
    because = f"{basis.clause('together')}, and {basis.title('EMB101')}"
    codes = ("EMB101", "distances", "together", "free")
    advice = (
        f"Do not read meaning into these cosines; rank {basis.nouns.items} by "
        "distance, which is what was trained."
    )
    return basis.answer(AnswerWord.NO, because, codes, advice)


def _left_open_by_a_temperature(basis: Basis) -> Answer:
    """Answer where training compared two sides by cosines over a temperature."""
    return _convention(basis, basis.clause("order"), "order", "EMB103")


def _equal_to_predictions(basis: Basis) -> Answer:
    """Answer where the cosines of this version are prediction cosines."""
    here = basis.findings["cosines_agree"].scope
    advice = (
        f"Read these cosines as cosines of {basis.nouns.prediction_phrase}, as long as "
        "the vectors stay as they are."
    )
    return basis.answer(
        AnswerWord.BY_CONVENTION,
        f"here they are {here}, but an equivalent model could hold others",
        ("cosines_agree", "free"),
        advice,
    )


def _near_predictions(basis: Basis) -> Answer:
    """Answer where the cosines of this version nearly are prediction cosines."""
    here = basis.findings["cosines_near"].scope
    because = f"here they nearly are {here}, but an equivalent model could hold others"
    return _convention(basis, because, "cosines_near")


def _unlike_predictions(basis: Basis) -> Answer:
    """Answer where cosines or lists differ from prediction cosines or their lists."""
    code = "lists_differ" if basis.diagnosis.lists_differ else "cosines_differ"
    because = (
        "models that predict exactly the same have other cosines. "
        f"{basis.sentence(code)}"
    )
    return _no(basis, because, code)


def _decided_by_the_origin(basis: Basis) -> Answer:
    """Answer where the mean row of a head decides its cosines."""
    if basis.diagnosis.contradicts_decay:
        because = (
            f"{basis.title('EMB301')}. Also, {basis.title('EMB306')} ({basis.declared})"
        )
        return _no(basis, because, "EMB306", "EMB301")
    return _decided_without_a_probability(basis, basis.title("EMB301"), "EMB301")


def _decided_without_a_probability(basis: Basis, because: str, code: str) -> Answer:
    """Answer where a change without effect on probabilities changes the cosines."""
    if basis.diagnosis.is_tied:
        because += (
            f" (if the {basis.nouns.head} gets a table separate from the input "
            "embeddings)"
        )
        return _no(basis, because, code, "tied")
    return _no(basis, because, code)


def _chosen_by_training(basis: Basis) -> Answer:
    """Answer where the declared training chose one model, or should have."""
    found = basis.diagnosis
    gap = found.penalty_gap
    if gap is not None and gap.is_far:
        because = (
            f"{basis.title('EMB103')} ({basis.declared}): {basis.title('EMB104')}. So "
            "the penalty did not choose these cosines, and the predictions do not fix "
            "them"
        )
        return _no(basis, because, "EMB104")
    if gap is not None:
        because = (
            f"{basis.title('EMB103')} ({basis.declared}): {basis.title('EMB104')}. The "
            "penalty was too weak to undo the random start, training stopped early or "
            "had another objective, or the rows were rescaled"
        )
        return _convention(basis, because, "EMB104", "EMB103")
    if found.contradicts_decay:
        because = (
            f"{basis.title('EMB306')} ({basis.declared}): equal decay of all rows ends "
            "with a mean row of zero. So training stopped before its minimum, did not "
            "decay all rows alike, or had another objective, and nothing shows that "
            f"the penalty chose these cosines. {basis.sentence('origin')}"
        )
        return _convention(basis, because, "EMB306", "EMB103", "origin")
    because = f"{basis.title('EMB103')} ({basis.declared})"
    if found.lists_differ:
        because += f". {basis.sentence('lists_differ')}"
        return _convention(basis, because, "EMB103", "lists_differ")
    return _convention(basis, because, "EMB103")


def _of_one_side(basis: Basis) -> Answer:
    """Answer where one side was loaded, without a second side or inputs."""
    found = basis.diagnosis
    if found.origin is Origin.CHANGES_LITTLE:
        others = "other shifts of all rows, and other axes,"
        if basis.model.rank == 1:
            others = "other shifts of all rows"
        because = (
            f"subtracting the mean row changes little, but {others} keep the "
            "predictions as well and can change the cosines. Give inputs (`--inputs "
            "FILE`) for cosines that the predictions fix"
        )
        return _convention(basis, because, "origin", "one_side")
    codes: tuple[str, ...]
    if found.origin is Origin.TIED:
        codes = ("EMB305", "one_side", "free")
        because = (
            "other heads that predict the same have other cosines. Inputs (`--inputs "
            "FILE`), which the file does not hold, would decide between BY CONVENTION "
            "and NO"
        )
    elif found.case is Case.OTHER_TABLE:
        codes = ("second_table", "free")
        because = (
            f"{basis.clause('second_table')}. Give the second set (`--left-file "
            "FILE`): the rows themselves do not show what they were multiplied with"
        )
    else:
        codes = ("one_side", "free")
        because = (
            "these are vectors of one side. Were they compared with each other in "
            "training (`--compared cosine`, `dot` or `distance`), or multiplied with a "
            "second set (`--left-file FILE`)? The rows themselves do not show it"
        )
    return basis.answer(AnswerWord.UNKNOWN, because, codes, _until_known(basis))


def _no(basis: Basis, because: str, *codes: str) -> Answer:
    """Answer that equivalent models have other cosines, and advise which to use."""
    advice = _what_to_use(basis)
    if basis.diagnosis.freedom.keeps_signs:
        because = f"only the sign is fixed. {because[0].upper()}{because[1:]}"
    return basis.answer(AnswerWord.NO, because, (*codes, "free"), advice)


def _convention(basis: Basis, because: str, *codes: str) -> Answer:
    """Answer that training, or the author of the file, picked these cosines."""
    model = basis.model
    advice = "Read these cosines as a convention of this training run"
    if model.left is not None:
        advice += f"; check them against cosines of {basis.nouns.prediction_phrase}"
    elif is_head(model):
        advice += f"; {_with_inputs(basis)}"
    return basis.answer(
        AnswerWord.BY_CONVENTION, because, (*codes, "free"), f"{advice}."
    )


def _until_known(basis: Basis) -> str:
    """Write how to read cosines as long as the answer is unknown."""
    advice = (
        "Until that is known, read these cosines as a convention of this training run"
    )
    if basis.model.left is None and is_head(basis.model):
        advice += f"; {_with_inputs(basis)}"
    return f"{advice}."


def _with_inputs(basis: Basis) -> str:
    """Say that inputs give the logit cosines of a head, which its predictions fix."""
    return f"with inputs, logit cosines are what the {basis.nouns.head} pins down"


def _what_to_use(basis: Basis) -> str:
    """Advise which scores or cosines to use if predictions leave the cosines free."""
    model, nouns = basis.model, basis.nouns
    if is_head(model):
        start = f"Do not read meaning into {nouns.label} cosines; "
        if model.left is None:
            return (
                f"{start}give inputs (`--inputs` or `--states`) and use logit cosines."
            )
        return f"{start}use logit cosines."
    start = "Do not read meaning into these cosines; "
    if model.left is None:
        return f"{start}rank by the dot product with the other side."
    if model.link.unit_sides:
        return (
            f"{start}rank by the predicted cosines, or use cosines of the predictions."
        )
    if model.predicts is Equivalence.RANKINGS:
        return (
            f"{start}rank {nouns.items} by their scores, or use cosines of the scores. "
            "This model's scores fix those, its rankings do not."
        )
    return (
        f"{start}rank {nouns.items} by their scores, or use cosines of the predictions."
    )
