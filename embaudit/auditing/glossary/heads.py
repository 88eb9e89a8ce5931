"""Codes of softmax heads (EMB3xx)."""

from __future__ import annotations

from embaudit.auditing.glossary.entry import ISSUE, TIP, Code

NIELSEN = "Nielsen: Why not to use Cosine Similarity between Label Representations (arXiv 2603.29488)."

OF_HEADS = (
    Code(
        "EMB301",
        (ISSUE,),
        "the mean row of a head, which no probability shows, decides nearest labels or cosines",
        "Adding one vector to every label row changes no probability. Removing the mean row changes these cosines.",
        "The origin that label cosines are measured from is a convention, and here it decides who is near whom.",
        "Compare what the head predicts: logit cosines over your inputs (`embaudit fix --as prediction`, with "
        "`--inputs` or `--states` where the head has none).",
        "Reported where 5 % of the labels get another nearest one without the mean row, or cosines move by 0.05 on "
        "average.",
        NIELSEN,
    ),
    Code(
        "EMB302",
        (TIP,),
        "the labels are affinely independent: without inputs the head says nothing about them",
        "There are no more labels than dimensions and one, in general position.",
        "Inputs can produce any logits, and equal heads any cosines. No label is nearer to another by the head alone.",
        "Bring inputs, and use logit cosines over them.",
        "The dimensions that differences of labels span are counted; one less than the labels is reported.",
        NIELSEN,
        grows=False,
    ),
    Code(
        "EMB303",
        (TIP,),
        "projector cosines say little",
        "There are few labels for each dimension, so that nearly all projector cosines are alike.",
        "The one likeness that a head has without inputs carries little here.",
        "Bring inputs, and use logit cosines over them.",
        "Labels per dimension, V/k; reported below 2.",
        NIELSEN,
        grows=False,
    ),
    Code(
        "EMB304",
        (TIP,),
        "some labels can hardly be the most probable one: no input puts them ahead by a stated margin",
        "The rows of these labels lie inside the hull of the others, or at its edge.",
        "Greedy decoding hardly ever emits them, whatever the input is.",
        "Lengthen those rows, or give the head more dimensions or a bias.",
        "For each label asked an input that leads is sought, or a proof that none does. The point of a convex hull "
        "nearest to the origin tells, and a linear program where that leaves it open.",
        "Demeter, Kimmel, Downey: Stolen Probability (ACL 2020).",
    ),
    Code(
        "EMB305",
        (TIP,),
        "a declared soft-cap or normalisation ties the origin of the labels",
        "With it, shifting all labels changes probabilities, so fewer heads are equal to this one.",
        "If the declaration is wrong, the audit has looked at too few equal heads.",
        "If it is wrong, audit again without it.",
        "The mean row is removed, and the change of the probabilities is measured.",
        NIELSEN,
    ),
    Code(
        "EMB306",
        (TIP,),
        "the mean row contradicts the weight decay declared for the head",
        "Where weight decay on all labels has come to rest, the label rows add up to zero. These do not.",
        "The declared objective does not describe this head, so what it would pin down is not pinned.",
        "Check the declaration: training stopped early, some labels were decayed otherwise, or none were.",
        "Length of the mean row over the median length of a row; reported above 0.01.",
        NIELSEN,
    ),
    Code(
        "EMB307",
        (ISSUE,),
        "the gains of the final norm, which may stand in the head or before it, decide nearest labels",
        "A network multiplies its last states by gains, then by the head. Folded into the head, the gains give the "
        "same model with other label cosines.",
        "Two honest people read two neighbourhoods off one model. Papers disagree by this convention.",
        "Name the convention, and compare heads in one. `embaudit fix --as folded-centred` writes it.",
        "Nearest labels are compared as stored and folded, of labels without a copy. Reported where 5 % of them get "
        "another nearest one. Logits of 1,000 random normalised states verify that both are one model. Behind a "
        "LayerNorm, what rows have along the ones vector is seen by no state.",
        "Nanda, Bloom: TransformerLens (2022), on folding a LayerNorm.",
        ("folding", "final norm"),
    ),
)
