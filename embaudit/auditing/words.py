"""The words of reports that have to be explained."""

from __future__ import annotations

from collections.abc import Mapping

from embaudit.auditing import glance
from embaudit.auditing.entry import Entry
from embaudit.auditing.wording import USERS_AND_ITEMS, Nouns

_ENTRIES = (
    Entry(
        "YES",
        meaning=(
            "The answer where {predictions} fix these cosines: every model that "
            "predicts the same has them, or the vectors were made of {predictions}. "
            "YES does not mean that near rows are alike in taste or meaning: "
            "`embaudit evaluate` judges that. YES holds within this model; never "
            "compare cosines of two models."
        ),
        example=(
            "A sentence encoder compares its rows with each other, so who is nearest "
            "is part of what it predicts."
        ),
    ),
    Entry(
        "BY CONVENTION",
        meaning=(
            "The answer where {predictions} leave the cosines open, and training, or "
            "the author of the file, picked one of many equally good versions. It "
            "holds within this model; never compare cosines of two models."
        ),
        example=(
            "ALS with the same decay on both sides, trained until its penalty falls no "
            "further."
        ),
    ),
    Entry(
        "NO",
        meaning=(
            "The answer where models with the same {predictions} have other cosines, "
            "and nothing known about training excludes them. For cosines of {users} "
            "with {items} the answer adds that only the sign is fixed, where that is "
            "proven."
        ),
        example=(
            "Factors with a penalty on their product: rescaled factors predict the "
            "same, and other {items} are near."
        ),
    ),
    Entry(
        "UNKNOWN",
        meaning=(
            "The answer where it is neither proven that {predictions} fix these "
            "cosines nor that they do not. The reason says what would decide it, such "
            "as the other vectors, some inputs, or how the model was trained, or that "
            "no method here decides it."
        ),
        example=(
            "Word vectors alone: the contexts that they were multiplied with are in "
            "another table."
        ),
    ),
    Entry(
        "CHECK FIRST",
        meaning=(
            "The answer where something is wrong before cosines are worth a question: "
            "the check of the audit failed (EMB001), the {predictions} are not those "
            "of the baseline (EMB002), the declared training is not the one that the "
            "file states (EMB106), or the table holds two spaces (EMB411). Also "
            "the answer for rows that are data, which training did not learn."
        ),
        example=(
            "A re-embedding stopped half way, so half of the rows come from another "
            "encoder."
        ),
    ),
    Entry(
        "gauge",
        meaning=(
            "A change of the factors of both sides at once that leaves every "
            "{prediction} as it is, such as a stretch of the {users} that is undone on "
            "the {items}. Cosines within a side can change."
        ),
        example=(
            "Double the first column of the {users} and halve that of the {items}: "
            "every score stays, {item} cosines move."
        ),
        also=(
            "gauge group",
            "linear",
            "linear map",
            "random linear maps",
            "affine",
            "random affine maps",
            "orthogonal",
        ),
        pages=(
            "audit",
            "compare",
        ),
    ),
    Entry(
        "κ",
        meaning=(
            "How far a linear gauge stretches: its largest stretch over its smallest "
            "(condition number). κ = 1 is a rotation, which moves no cosine."
        ),
        example="κ = 1.5 stretches one direction by 50 % more than another.",
        also=(
            "kappa",
            "condition number",
            "stretch",
            "rescaling",
            "random rescalings",
            "diagonal",
            "rotation",
        ),
        pages=(
            "audit",
            "compare",
        ),
    ),
    Entry(
        "budget",
        meaning=(
            "The largest strength of the gauges that a statement is about: the largest "
            "κ, and the longest shift."
        ),
        example=(
            "Within κ = 1.5, a cosine of 0.50 can become anything from 0.14 to 0.74."
        ),
    ),
    Entry(
        "shift",
        meaning=(
            "A gauge that adds one vector to all rows of a side. It keeps "
            "{predictions} where a bias or the softmax takes it up; its length is "
            "given in typical (median) rows."
        ),
        example=(
            "Adding one vector to all label rows of a softmax head changes no "
            "probability."
        ),
        also=(
            "within one length",
            "translation",
            "typical row",
            "origin moves",
        ),
    ),
    Entry(
        "equivalent model",
        meaning=(
            "A model that makes the same {predictions} as yours, for every pair or "
            "input. An audit makes some and compares their cosines with yours."
        ),
        example="Your factors after any gauge.",
        also=(
            "in another model",
            "in another head",
            "worst found",
            "equal model",
            "fibre",
            "equivalent",
            "same predictions",
            "seen in",
        ),
    ),
    Entry(
        "label",
        meaning=(
            "A token of a language model, or a class. A softmax head has one row per "
            "label, and gives each label a probability."
        ),
        example="Label rows are also called unembeddings.",
        also=("unembedding",),
    ),
    Entry(
        "role",
        meaning=(
            "Which cosines are meant: {item}-{item}, {user}-{user} or {user}-{item}. "
            "In code and JSON they are right, left and cross."
        ),
        example="`--role {item}` asks for cosines of two {items}.",
        also=(
            "side",
            "left",
            "right",
            "cross",
            "one side",
            "second set",
            "item-item",
            "user-user",
            "user-item",
            "label-label",
        ),
    ),
    Entry(
        "certified",
        meaning=(
            "A neighbour is certified if no gauge within the budget can push it out of "
            "its list. A list is certified if all its entries are. Nothing is proven "
            "about an entry that is not certified: it can still stay."
        ),
        example=(
            "'12 % certified within κ = 1.5' means that 12 % are proven to stay, and "
            "that 88 % are open."
        ),
        also=(
            "nearest that no such change can remove",
            "guaranteed if",
            "axes stretch by at most",
            "sign fixed",
            "certificate",
        ),
    ),
    Entry(
        "range",
        meaning=(
            "All values that one cosine takes under the gauges of a budget, exactly."
        ),
        example="A cosine of 0.50 has the range 0.14 to 0.74 within κ = 1.5.",
        also=(
            "width of range",
            "width",
            "width, linear",
            "width, rescaling",
            "width, origin moves by at most typical row",
            "interval",
        ),
    ),
    Entry(
        "witness",
        meaning=(
            "A concrete gauge that shows a statement, and whose {predictions} were "
            "checked."
        ),
        example="The gauge that brings a cosine to the end of its range.",
    ),
    Entry(
        "attack",
        meaning=(
            "A search for the gauge within a budget that moves cosines most, or "
            "changes lists most."
        ),
        example="An attack shows what is possible; certificates show what is not.",
    ),
    Entry(
        "prediction cosine",
        meaning=(
            "The cosine of the {predictions} for two {items} over all {users}, without "
            "biases, instead of the cosine of their vectors. No gauge changes this "
            "cosine, so it is the similarity that the {predictions} fix."
        ),
        example=(
            "Two films whose predicted scores rise and fall together over all {users} "
            "have a prediction cosine near 1."
        ),
        also=(
            "by their predictions",
            "cosine of the predictions",
            "by their scores without biases",
        ),
        pages=(
            "audit",
            "compare",
            "evaluate",
        ),
    ),
    Entry(
        "exponent",
        meaning=(
            "How an equivalent model shares out the strength of each dimension "
            "between the sides: 0 gives all to the {items}, 1 all to the {users}, 0.5 "
            "half to each (balanced)."
        ),
        example="At exponent 0 the cosines of the {items} are prediction cosines.",
        also=(
            "canonical form",
            "balanced",
            "balanced cosine",
        ),
    ),
    Entry(
        "duplicate",
        meaning=(
            "A row with the same direction as another row, up to the rounding of the "
            "stored numbers."
        ),
        example=(
            "Tokens that a language model never saw in training often keep one row in "
            "common."
        ),
        also=(
            "copy",
            "twin",
            "duplicates count once",
        ),
    ),
    Entry(
        "shared",
        meaning=(
            "Rows of a side that both models have, matched by their ids or by their "
            "order. A row is the vector of one {item} or {user}."
        ),
        also=("rows",),
        pages=(),
    ),
    Entry(
        "direction",
        meaning=(
            "The direction of a row does not depend on its length. Cosines compare "
            "directions; a row of zeros has none."
        ),
        example="Twice a row has the same direction, so its cosines stay.",
        pages=(),
    ),
    Entry(
        "set aside",
        meaning=(
            "Special rows, such as special tokens and padding, that are in no sample. "
            "They still count as neighbours of other rows."
        ),
        also=("special rows",),
    ),
    Entry(
        "logit cosine",
        meaning=(
            "The cosine of the logits of two labels over many inputs. The mean logit "
            "of each input is subtracted first, because no probability shows it."
        ),
        example="Two labels that are likely for the same inputs have one near 1.",
        also=("cosine of the logits",),
    ),
    Entry(
        "projector cosine",
        meaning=(
            "The cosine of two labels after their rows are centred and whitened. No "
            "gauge of a softmax head changes it, and it needs no inputs."
        ),
        example=(
            "With no more labels than dimensions, and no label a mixture of others, "
            "all of them are equal."
        ),
    ),
    Entry(
        "whitened",
        meaning=(
            "Brought to a form in which all dimensions of a side are equally strong "
            "and at right angles."
        ),
        example=(
            "{Users} whitened: the {item} vectors then hold all that tells dimensions "
            "apart, and {item} cosines are prediction cosines."
        ),
        also=(
            "right-whitened",
            "items whitened",
            "left-whitened",
            "users whitened",
        ),
        pages=(
            "audit",
            "evaluate",
        ),
    ),
    Entry(
        "drift",
        meaning=(
            "How far {predictions} moved although they must not move. Rounding "
            "explains a small drift; a larger one fails the check (EMB001)."
        ),
        example="A largest change of 1e-15 is rounding.",
        also=(
            "predictions moved",
            "probabilities moved",
            "scores moved",
        ),
    ),
    Entry(
        "movement",
        meaning=(
            "How far cosines move from your model to an equivalent one: on average, at "
            "most, and in the lists of neighbours."
        ),
        example=(
            "A mean of 0.20 means that a cosine of 0.50 typically becomes 0.30 or 0.70."
        ),
        also=(
            "mean |Δcos|",
            "largest",
        ),
    ),
    Entry(
        "effective rank",
        meaning=(
            "Number of dimensions that the directions of the rows of a side use: 1 "
            "divided by the mean squared cosine of all pairs of rows, where each row "
            "is also paired with itself. It is d for rows that are spread evenly over "
            "d dimensions, and little more than 1 for rows near one direction."
        ),
        example=(
            "An effective rank of 4 of 64: the rows lie nearly in 4 dimensions, or a "
            "few dimensions hold most of their length."
        ),
    ),
    Entry(
        "gate",
        meaning=(
            "The rule that lets a release pass or stops it: `--fail-on issue`, or a "
            "baseline. docs/gate.md shows one."
        ),
        also=(
            "release",
            "fail-on",
        ),
        pages=(),
    ),
    Entry(
        "baseline",
        meaning=(
            "The JSON of an earlier audit (`--baseline FILE`). With a baseline, only "
            "findings that are new or worse stop a release."
        ),
        also=("known",),
        pages=(),
    ),
    Entry(
        "how sure",
        meaning=(
            "The grounds of the answer. Proven: a theorem holds for all models that "
            "the sentence names. Shown by an example: another model was made, and its "
            "predictions were checked. Measured: a figure of all rows or of a sample, "
            "whose size the sentence names. Declared: somebody said it, and the rows "
            "do not show it."
        ),
        example=(
            "That equivalent models have other cosines is proven; which share of lists "
            "stays is measured on lists of 302 of 9,724 items."
        ),
        also=("certainty",),
    ),
    Entry(
        "finding",
        meaning=(
            "One conclusion of an audit, with its certainty: shown (by an example), "
            "proven, measured, assumed (you declared it) or undecided. Its scope names "
            "the equivalent models, and its rows name the cosines, that it is about."
        ),
        example=(
            "Every sentence of a report is the text of a finding. A finding that asks "
            "for no action is a note."
        ),
        also=(
            "note",
            "conclusion",
            "claim",
            "scope",
            "shown",
            "proven",
            "measured",
            "assumed",
            "undecided",
            "issue",
            "tip",
        ),
    ),
    Entry(
        "objective",
        meaning=(
            "What training minimised. Some objectives choose one of the equivalent "
            "models, and some leave all of them open."
        ),
        example="`--objective factors`: squared error with decay on both sides.",
        also=(
            "if the objective was",
            "the cosines are",
            "training",
            "penalty",
            "weight decay",
        ),
    ),
    Entry(
        "by a change of axes",
        meaning=(
            "The part of the change that the best gauge removes, on rows that were not "
            "used to find it. A gauge changes no prediction."
        ),
        also=(
            "correlation on the same axes",
            "change of axes",
        ),
        pages=("compare",),
    ),
    Entry(
        "by dimensions no prediction sees",
        meaning=(
            "The part of the change in directions that no row of the other side has. "
            "It moves cosines and no score."
        ),
        also=(
            "lost to dimensions no prediction sees",
            "unseen part",
            "by unseen dimensions",
        ),
        pages=("compare",),
    ),
    Entry(
        "by a real change",
        meaning=(
            "The difference that is left after one model is brought to the axes of the "
            "other. The parts add up to the change."
        ),
        also=(
            "mean change",
            "mean change of cosines",
            "mean over",
            "measure",
            "correlation of cosines",
            "real change",
        ),
        pages=("compare",),
    ),
    Entry(
        "lost to a change of axes",
        meaning=(
            "How many fewer neighbours are lost once the gauge is applied, on rows "
            "that were not used to find it."
        ),
        pages=("compare",),
    ),
    Entry(
        "lost to a real change",
        meaning="Neighbours that are lost even after the gauge is applied.",
        pages=("compare",),
    ),
    Entry(
        "SAME",
        meaning=(
            "The answer of `compare` where a gauge is proven to carry all rows of one "
            "model to the other, within the rounding of their storage. No prediction "
            "changes, or no cosine if only one side was loaded."
        ),
        pages=("compare",),
    ),
    Entry(
        "CLOSE",
        meaning=(
            "The answer of `compare` where every limit of `--fail-below`, or of a "
            "second seed (`--reference`), is reached."
        ),
        pages=("compare",),
    ),
    Entry(
        "DIFFERENT",
        meaning=(
            "The answer of `compare` where a limit of `--fail-below`, or of a second "
            "seed (`--reference`), is not reached."
        ),
        pages=("compare",),
    ),
    Entry(
        "OTHER SPACE",
        meaning=(
            "The answer of `compare` where neither cosines nor scores of the two "
            "models are related. A cosine between a row of one and a row of the other "
            "means nothing."
        ),
        pages=("compare",),
    ),
    Entry(
        "precision",
        meaning=(
            "Share of the nearest rows that are related to the row whose list it is."
        ),
        pages=("evaluate",),
    ),
    Entry(
        "AUC",
        meaning=(
            "Probability that a row with a label in common comes before a row without "
            "one; ties count half."
        ),
        pages=("evaluate",),
    ),
    Entry(
        "NDCG",
        meaning=(
            "Gain of a list as a share of the largest possible gain, where early "
            "places count more."
        ),
        pages=("evaluate",),
    ),
    Entry(
        "hit rate",
        meaning="Share of the lists that hold a related row at all.",
        pages=("evaluate",),
    ),
    Entry(
        "recall",
        meaning=(
            "Number of related rows in a list, as a share of all of them or, if there "
            "are more of them than the list has places, of the places."
        ),
        pages=("evaluate",),
    ),
    Entry(
        "never listed",
        meaning="Share of the rows that no list of the queries holds.",
        pages=("evaluate",),
    ),
    Entry(
        "popular tenth",
        meaning=(
            "Share of the places of all lists that the tenth of the rows with the most "
            "interactions takes."
        ),
        pages=("evaluate",),
    ),
    Entry(
        "chance",
        meaning=(
            "First measure of a random list: its precision by labels, and its hit rate "
            "by interactions."
        ),
        pages=("evaluate",),
    ),
    Entry(
        "CSLS",
        meaning=(
            "Cosine minus half the mean cosine of the listed row with its 10 nearest "
            "rows, so that hubs are listed less often."
        ),
        pages=("evaluate",),
    ),
    Entry(
        "centred cosine",
        meaning="Cosine of the rows after their mean is subtracted.",
        pages=("evaluate",),
    ),
    Entry(
        "block",
        meaning=(
            "A part of both sets of tensors, such as one tensor, one row or one head."
        ),
        also=("size",),
        pages=("blocks",),
    ),
    Entry(
        "local cosine",
        meaning=(
            "The cosine of the two vectors within one block; none where a side is zero."
        ),
        pages=("blocks",),
    ),
    Entry(
        "weight",
        meaning=(
            "The product of the block's lengths over the product of the whole lengths."
        ),
        pages=("blocks",),
    ),
    Entry(
        "norm profiles",
        meaning=(
            "How the length of each side is shared out over the blocks; the weights "
            "add up to their cosine."
        ),
        pages=("blocks",),
    ),
    Entry(
        "contribution",
        meaning="Weight times local cosine. All of them add up to the global cosine.",
        also=("cumulative_share",),
        pages=("blocks",),
    ),
    Entry(
        "norm_gap",
        meaning=(
            "What a block takes from the global cosine because its lengths differ "
            "between the two sides."
        ),
        pages=("blocks",),
    ),
    Entry(
        "direction_gap",
        meaning=(
            "What a block takes from the global cosine because its directions differ. "
            "All gaps add up to 1 minus the global cosine."
        ),
        pages=("blocks",),
    ),
    Entry(
        "gap_share",
        meaning="The block's part of all gaps.",
        pages=("blocks",),
    ),
    Entry(
        "without",
        meaning="The global cosine of all other blocks.",
        pages=("blocks",),
    ),
    Entry(
        "r",
        meaning="Correlation, from −1 to 1.",
        also=(
            "r_pooled",
            "r_within",
        ),
        pages=("simpson",),
    ),
    Entry(
        "slope",
        meaning="Least-squares change of y for one unit of x.",
        also=(
            "mean_x",
            "mean_y",
        ),
        pages=("simpson",),
    ),
    Entry(
        "pooled",
        meaning="Computed over all rows, whatever their group.",
        pages=("simpson",),
    ),
    Entry(
        "within",
        meaning="Computed within groups, all groups taken together.",
        pages=("simpson",),
    ),
    Entry(
        "reversal",
        meaning=(
            "The correlations over all rows and within groups have opposite signs, and "
            "every group with a vote opposes."
        ),
        also=(
            "kind",
            "grouping",
        ),
        pages=("simpson",),
    ),
    Entry(
        "partial reversal",
        meaning=(
            "The correlations have opposite signs, and groups with at least half of "
            "the voting rows oppose."
        ),
        pages=("simpson",),
    ),
    Entry(
        "vanishing",
        meaning=(
            "The correlation within groups is at most a quarter of the one over all "
            "rows."
        ),
        pages=("simpson",),
    ),
    Entry(
        "masked",
        meaning=(
            "The correlation over all rows is at most a quarter of the one within "
            "groups."
        ),
        pages=("simpson",),
    ),
    Entry(
        "no reversal",
        meaning=(
            "The grouping neither reverses nor removes nor uncovers the association."
        ),
        pages=("simpson",),
    ),
    Entry(
        "vote",
        meaning="A group has a vote if it is large enough and has a correlation.",
        also=(
            "votes",
            "n",
        ),
        pages=("simpson",),
    ),
    Entry(
        "opposes",
        meaning="The group has a vote, and its sign is the opposite of the pooled one.",
        pages=("simpson",),
    ),
    Entry(
        "nearest kept",
        meaning=(
            "The share of the nearest neighbours that are still among as many nearest "
            "in an equivalent model, or in the other model of a comparison. Duplicates "
            "count once."
        ),
        example="'10 nearest kept: 72 %': of ten neighbours, about seven stay.",
        also=(
            "top kept",
            "kept",
            "nearest by prediction cosine kept",
            "kept by prediction cosine",
            "lost",
            "nearest",
            "neighbour",
            "one list only",
        ),
        pages=(
            "audit",
            "compare",
        ),
    ),
    Entry(
        "sign flips",
        meaning=(
            "The share of pairs whose cosine is above zero in one model and below it "
            "in the other."
        ),
    ),
    Entry(
        "rank corr.",
        meaning=(
            "Spearman's correlation of cosines before and after: 1 where the order of "
            "all pairs stays."
        ),
        also=(
            "rank correlation",
            "spearman",
        ),
    ),
    Entry(
        "higher than",
        meaning=(
            "The share of random pairs of the same side with a lower cosine: how "
            "unusual this one is."
        ),
        also=(
            "pairs above",
            "share of pairs",
            "random pairs",
            "above all",
        ),
    ),
    Entry(
        "threshold",
        meaning=(
            "A cosine from which on two rows count as alike. Carried over to another "
            "model, as many pairs lie above the new one."
        ),
        also=(
            "before",
            "now",
        ),
        pages=("compare",),
    ),
    Entry(
        "convention",
        meaning=(
            "A way to write one head that changes no probability: as stored, with its "
            "final norm folded in, or with its mean row subtracted. No convention is "
            "truer than another."
        ),
        example=(
            "Subtracting the mean row changes the nearest labels of many heads, and no "
            "probability of any."
        ),
        also=(
            "as stored",
            "folded",
            "norm folded in, mean row subtracted",
            "equivalent head",
            "one",
            "the other",
            "mean row",
            "centred",
            "norm",
        ),
    ),
    Entry(
        "similarity",
        meaning="A number that ranks the other rows for one row.",
        also=(
            "dot product",
            "difference",
            "value",
            "ci_low",
            "ci_high",
            "difference_ci_low",
            "difference_ci_high",
        ),
        pages=("evaluate",),
    ),
    Entry(
        "cosine",
        meaning=(
            "The product of two rows over the product of their lengths: 1 for one "
            "direction, 0 at right angles."
        ),
        also=(
            "by cosine",
            "cosines",
        ),
        pages=(
            "audit",
            "evaluate",
        ),
    ),
    Entry(
        "bias",
        meaning=(
            "A number for each row that is added to its scores. Cosines do not see it, "
            "unless it stands among the factors."
        ),
        also=(
            "without the bias",
            "with it among the factors",
        ),
    ),
)


def words_for(nouns: Nouns) -> Mapping[str, Entry]:
    """Return the words by their names, explained in the nouns of a model.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> head = FactorModel.from_softmax([[1.0]])
    >>> words_for(Nouns.from_model(head))["role"].meaning.partition(".")[0]
    'Which cosines are meant: label-label, input-input or input-label'
    """
    entries = (*_ENTRIES, *glance.ENTRIES)
    return {entry.name: entry.with_nouns(nouns) for entry in entries}


WORDS = words_for(USERS_AND_ITEMS)
"""The words by their names, explained in users and items."""
