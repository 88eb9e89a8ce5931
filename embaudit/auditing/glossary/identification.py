"""Codes of the check itself, and of what predictions and training pin down (EMB0xx, EMB1xx)."""

from __future__ import annotations

from embaudit.auditing.glossary.entry import ISSUE, TIP, Code

STECK = "Steck, Ekanadham, Kallus: Is Cosine-Similarity of Embeddings Really About Similarity? (WWW Companion 2024)."
SREBRO = "Srebro, Rennie, Jaakkola: Maximum-Margin Matrix Factorization (NIPS 2004), on penalties of both factors."

OF_IDENTIFICATION = (
    Code(
        "EMB001",
        (ISSUE,),
        "predictions did not stay the same: the check itself failed",
        "A model that should predict the same as yours does not, by more than rounding explains.",
        "An audit compares cosines of models that predict the same. If they do not, no other figure of it holds.",
        "Look for huge or tiny columns in the factors. If they are ordinary, report this as a bug.",
        "Predictions before and after each gauge are compared on sampled rows. The bound is rounding times κ times the "
        "lengths of the factors.",
        "Higham: Accuracy and Stability of Numerical Algorithms (SIAM 2002), chapter 3.",
    ),
    Code(
        "EMB101",
        (ISSUE,),
        "training does not fix the cosines",
        "Other models make the same predictions, have other cosines, and are as good under the declared objective.",
        "Which of them you got was up to the solver. Another run may rank neighbours otherwise.",
        "Rank one side for a row of the other by their scores, or use prediction cosines, which all these models share "
        "(`embaudit fix`).",
        "An equal model with other cosines is made and its predictions are checked. The objective is looked up in the "
        "table of objectives.",
        STECK,
    ),
    Code(
        "EMB102",
        (TIP,),
        "the predictions do not fix the cosines, and training is not known",
        "Other models make the same predictions and have other cosines. Nobody said how this one was trained.",
        "Some objectives choose among equal models and some do not. Which one it was decides what can be said here.",
        "Name the objective (`--objective`), or use what the predictions fix (`embaudit fix`).",
        "As for EMB101; the model carries no objective, or one for which no law is known.",
        STECK,
    ),
    Code(
        "EMB103",
        (TIP,),
        "given the predictions the cosines are unique, but chosen by the regulariser or tied to the inputs",
        "The declared training prefers one of the equal models. The data did not choose it: the penalty did.",
        "The cosines are a convention. They can be reproduced, but another penalty on the same data gives others.",
        "Never compare them across models, and check them against prediction cosines.",
        "The objective is looked up in the table of objectives (in docs/reading.md).",
        SREBRO,
    ),
    Code(
        "EMB104",
        (TIP,),
        "the factors are not where the declared weight decay would leave them",
        "At a minimum with such decay both sides have equal Gram matrices. These factors do not.",
        "Training did not converge, or the objective is another one, or somebody rescaled the factors afterwards.",
        "Check the objective and the convergence. If decay counted ratings, declare `factors-counted`.",
        "κ of the gauge between these factors and balanced ones; reported above 1.1.",
        SREBRO,
        grows=False,
    ),
    Code(
        "EMB105",
        (TIP,),
        "whether the predictions fix the cosines is undecided",
        "No equal model with other cosines was found, and no proof rules one out.",
        "Nobody knows whether these cosines are part of what the model predicts.",
        "Read them as a convention of this training run until it is known.",
        "A sufficient condition for unique cosines is tested, then a search for an equal model; both came out empty.",
        STECK,
    ),
)
