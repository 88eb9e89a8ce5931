"""Words that reports use and that not every reader of cosines knows."""

from __future__ import annotations

from embaudit.auditing.glossary.entry import Word

OF_WORDS = (
    Word(
        "gauge",
        "A change of the factors of both sides at once that leaves every prediction as it is. A stretch of the users "
        "that is undone on the items is one. Cosines within a side need not stay.",
        "Double the first column of the users and halve that of the items: every score stays, item cosines move.",
        ("gauge group",),
    ),
    Word(
        "κ",
        "How far a linear gauge stretches: its largest stretch over its smallest (condition number). κ = 1 is a "
        "rotation, which moves no cosine.",
        "κ = 1.5 stretches one direction by 50 % more than another.",
        ("kappa", "condition number"),
    ),
    Word(
        "budget",
        "How strong the gauges are that a statement speaks of: up to which κ, and up to which shift.",
        "Within κ = 1.5, a cosine of 0.50 can become anything from 0.14 to 0.74.",
    ),
    Word(
        "shift",
        "A gauge that adds one vector to all rows of a side. It keeps predictions where a bias or the softmax takes "
        "it up; its length is told in typical (median) rows.",
        "Adding one vector to all label rows of a softmax head changes no probability.",
        ("translation", "typical row"),
    ),
    Word(
        "equal model",
        "A model that makes the same predictions as yours, for every pair or input. An audit makes some and compares "
        "their cosines with yours.",
        "Your factors after any gauge.",
        ("equivalent model", "fibre"),
    ),
    Word(
        "label",
        "What a softmax head gives a probability to, a row for each: a token of a language model, or a class.",
        "Label rows are also called unembeddings.",
        ("unembedding",),
    ),
    Word(
        "role",
        "Which cosines are meant: item-item, user-user or user-item. In code and JSON they are right, left and cross.",
        "`--role item` asks for cosines of two items.",
        ("side", "left", "right", "cross"),
    ),
    Word(
        "certified",
        "A neighbour is certified when no gauge within the budget can push it out of its list. A list is certified "
        "when all its entries are. What is not certified may still stay: nothing is proven about it.",
        "'12 % certified within κ = 1.5' means: for 12 % it is proven that they stay, for 88 % it is open.",
        ("certificate",),
    ),
    Word(
        "range",
        "All values that one cosine takes under the gauges of a budget, exactly.",
        "A cosine of 0.50 has the range 0.14 to 0.74 within κ = 1.5.",
        ("interval",),
    ),
    Word(
        "witness",
        "A concrete gauge that does what a statement says is possible, whose predictions were checked.",
        "The gauge that brings a cosine to the end of its range.",
    ),
    Word(
        "attack",
        "A search for the gauge within a budget that moves cosines, or reorders lists, as much as it can.",
        "It shows what is possible; certificates show what is not.",
    ),
    Word(
        "prediction cosine",
        "The cosine of what is predicted for two items, over all users, instead of the cosine of their vectors. No "
        "gauge changes it, so it is the similarity that the predictions fix.",
        "Two films whose predicted scores rise and fall together over all users have one near 1.",
        ("cosine of the predictions", "users whitened", "left-whitened"),
    ),
    Word(
        "exponent",
        "Where a model stands among its equal models. It says how the strength of each dimension is shared out between "
        "the sides. 0 gives all to the items, 1 all to the users, 0.5 half to each (balanced).",
        "At exponent 0 the cosines of the items are prediction cosines.",
        ("canonical form", "balanced"),
    ),
    Word(
        "copy",
        "A row of the same direction as another one, exactly or nearly (cosine above 1 − 1e-4).",
        "Tokens that a language model never saw in training often keep one and the same row.",
        ("near-duplicate", "twin"),
    ),
    Word(
        "logit cosine",
        "The cosine of what a softmax head gives to two labels over many inputs, freed of what no probability shows.",
        "Two labels that are likely for the same inputs have one near 1.",
        ("cosine of the logits",),
    ),
    Word(
        "projector cosine",
        "The likeness of two labels that is left when the inputs are not known: their cosine after centring and "
        "whitening.",
        "With no more labels than dimensions all of them are equal.",
    ),
    Word(
        "whitened",
        "Brought to a form in which all dimensions of a side are equally strong and at right angles.",
        "Users whitened: the item vectors then hold all that tells dimensions apart.",
        ("right-whitened", "items whitened"),
    ),
    Word(
        "drift",
        "How far predictions moved where they must not move. Rounding explains some; more fails the check (EMB001).",
        "A largest change of 1e-15 is rounding.",
    ),
    Word(
        "movement",
        "How far cosines move from your model to an equal one: on average, at most, and in the lists of neighbours.",
        "A mean of 0.20 takes a cosine of 0.50 to 0.30 or 0.70 as a rule.",
    ),
    Word(
        "claim",
        "One statement of an audit, with how firmly it stands: shown (by an example), proven, measured, assumed (you "
        "declared it) or undecided. Its scope says of which equal models.",
        "Every sentence of the verdict is written from claims; the JSON lists them.",
        ("scope", "shown", "proven", "measured", "assumed", "undecided"),
    ),
    Word(
        "objective",
        "What training minimised. Some objectives choose one of the equal models, and some leave all of them open.",
        "`--objective factors`: squared error with decay on both sides.",
    ),
)
