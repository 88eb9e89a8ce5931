"""Codes of what the rows themselves are like, whatever they predict (EMB4xx)."""

from __future__ import annotations

from embaudit.auditing.glossary.entry import ISSUE, TIP, Code
from embaudit.auditing.glossary.identification import STECK

ASKED = "Asked where 30 rows or more have a direction."

OF_TRAITS: tuple[Code, ...] = (
    Code(
        "EMB401",
        (TIP, ISSUE),
        "rows are copies of each other, exactly or nearly",
        "These rows have a copy: another row of the same side whose cosine with them exceeds 1 − 1e-4.",
        "A list of neighbours then names one direction many times. Figures about lists mostly speak of the copies.",
        "Look at a few groups. In a catalogue they are often items with the same few interactions, or one product "
        "listed twice; among tokens those that training hardly touched. Show one of each group.",
        "Identical rows are found by a hash and verified, near ones by a tree; above 200,000 directions by a sample. "
        "A tip from 1 % of the rows on, an issue from 25 %, where chance has no part. A group is a first row with its "
        "later copies.",
        "Lee and others: Deduplicating Training Data Makes Language Models Better (ACL 2022), on where copies come "
        "from.",
    ),
    Code(
        "EMB402",
        (TIP,),
        "figures over all rows hide those of rows with much behind them",
        "In the equal model that moves lists most, other shares of neighbours stay for frequent rows than for all.",
        "Most rows of a catalogue have little behind them. A mean over all rows is a mean of these, and few people "
        "look at them.",
        "Judge the rows that you ask about.",
        "The share is taken over all rows, over those with 5 interactions or more, and weighted by interactions. Where "
        "no counts are known, length stands for them. Reported from a difference of 0.1 on, if 95 % intervals do not "
        f"overlap. {ASKED} Lists of 400 rows at most, and of 200 more of each kind.",
        "Cañamares, Castells: Should I Follow the Crowd? (SIGIR 2018), on figures that popularity decides.",
        ("tail",),
    ),
    Code(
        "EMB403",
        (TIP,),
        "all rows share one direction",
        "Two rows picked at random have a high cosine, because every row has the same large part.",
        "A cosine of 0.8 says little where any two rows have 0.7. The common part is no likeness of two rows.",
        "Read a cosine against those of random pairs. Where centring is a gauge, centred rows are as good.",
        "The mean cosine of all pairs is exact: it is read from the sum of the unit rows. Reported from 0.5 on. The "
        f"nearest rows of 400 rows at most are sought before and after centring. {ASKED} Not repeated where EMB301 "
        "says it.",
        "Mu, Viswanath: All-but-the-Top (ICLR 2018).",
        ("common direction",),
    ),
    Code(
        "EMB404",
        (TIP,),
        "a few rows fill the lists of all others",
        "Some rows, called hubs, are among the nearest of very many others.",
        "Whoever looks at lists sees the same few names. Being near to a hub says little.",
        "Discount hubs, or centre the rows first.",
        "In the lists of 400 rows at most, occurrences are counted. Reported where one row in a hundred, ten at most, "
        "fills 10 % of all places. Chance alone leaves a skewness of one over the root of the mean count. Asked where "
        "100 rows or more have a direction.",
        "Radovanović, Nanopoulos, Ivanović: Hubs in Space (JMLR 11, 2010).",
        ("hub",),
    ),
    Code(
        "EMB405",
        (TIP,),
        "row lengths follow counts or biases, and cosines do not see it",
        "The order of the rows by length is nearly their order by interactions, or by bias.",
        "A cosine divides by the lengths. What they tell, such as popularity, is thrown away.",
        "Rank by the dot product where it should count.",
        "Spearman's rank correlation of length with counts, else with the bias, over all rows with a direction. "
        f"Reported from 0.95 on, of either sign. {ASKED}",
        "Koren, Bell, Volinsky: Matrix Factorization Techniques for Recommender Systems (Computer 42, 2009).",
    ),
    Code(
        "EMB406",
        (TIP,),
        "a few stored dimensions carry the cosines",
        "Nearly all of the squared cosines is made in one to three columns.",
        "Cosines then compare these few numbers, and the other columns hardly count.",
        "Look who is near without them. Dropping or rescaling columns changes what a cosine means.",
        "A column carries its part of the sum of all squared cosines; the parts add up to 1. Reported where one column "
        "in ten, three at most, carries 90 %. It is said of the stored basis: a rotation changes it. Principal axes "
        "are told beside it. Of very many rows of more than 256 columns, some are drawn for the shares, 16,384 at "
        f"least. {ASKED}",
        "Timkey, van Schijndel: All Bark and No Bite (EMNLP 2021).",
        ("rogue dimension",),
    ),
    Code(
        "EMB407",
        (TIP,),
        "vectors alone have something the same in every row",
        "A column, or a mixture of columns, is one number in all rows.",
        "Libraries keep biases so. Cosines count the number as a likeness of any two rows.",
        "Leave it out before taking cosines, if it was a bias.",
        "A direction in which the rows do not differ by more than rounding. Where both sides are at hand, EMB204 says "
        "it.",
        "Koren, Bell, Volinsky: Matrix Factorization Techniques for Recommender Systems (Computer 42, 2009).",
        grows=False,
    ),
    Code(
        "EMB408",
        (TIP,),
        "rounding of the stored numbers decides who is near",
        "The numbers are those of a short format, such as float16. Others would have been stored as the same ones.",
        "A nearest row that rounding decides is no nearer than the next one.",
        "Store the vectors in float32, or take near ties for ties.",
        "The format is read from the numbers: bfloat16, float16, bytes with a scale for each row, or a grid. Every "
        "number is redrawn within its rounding. Reported where 5 % of 400 rows at most get another nearest row. "
        f"{ASKED}",
        "Higham: Accuracy and Stability of Numerical Algorithms (SIAM 2002), chapter 2.",
        ("quantised",),
    ),
    Code(
        "EMB409",
        (TIP,),
        "vectors alone all have length 1",
        "The dot product of two rows is their cosine. Nothing is left of the lengths that they may have had.",
        "Training on cosines leaves such rows, and so does dividing by the lengths afterwards. Only the first pins "
        "anything: then no change of the axes may change a length.",
        "If training compared cosines, declare `--objective cosine`, which says the same as `--link cosine`. With the "
        "other side at hand, its lengths count too.",
        "No row with a direction is longer or shorter than 1 by more than 0.001. Asked of vectors of one side whose "
        "training is not known.",
        STECK,
        ("unit rows",),
    ),
    Code(
        "EMB410",
        (TIP,),
        "vectors alone have orthonormal columns, so their cosines weigh all directions alike",
        "The columns are at right angles and of one length, as those of V in a singular value decomposition are.",
        "Every direction counts the same in the cosines, however little it matters to a score. With as many "
        "directions as rows, all these cosines would be 0.",
        "Multiply the columns by the singular values. With the other side at hand, `embaudit fix` does so.",
        "The largest and the smallest singular value of the rows differ by 0.1 % at most, and there are more rows than "
        "columns. Where both sides are at hand, the gauge position says it.",
        STECK,
    ),
)
