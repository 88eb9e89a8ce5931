"""Generated sentences about 24 topics."""

from __future__ import annotations

import itertools

TOPICS = {
    # Who, and what they do.
    "cooking": (
        ("chefs", "home cooks", "bakers", "kitchen assistants"),
        ("simmer the tomato soup", "knead the dough", "chop onions", "taste the sauce"),
    ),
    "football": (
        ("strikers", "goalkeepers", "football coaches", "referees"),
        (
            "argue about the penalty",
            "train for the cup final",
            "run across the pitch",
            "celebrate the goal",
        ),
    ),
    "space": (
        ("astronauts", "rocket engineers", "space agencies", "satellite operators"),
        (
            "prepare the moon landing",
            "dock at the space station",
            "launch a probe to Mars",
            "correct the orbit",
        ),
    ),
    "medicine": (
        ("surgeons", "nurses", "hospital doctors", "anaesthetists"),
        (
            "treat the infection",
            "operate on the knee",
            "measure the blood pressure",
            "prescribe antibiotics",
        ),
    ),
    "gardening": (
        ("gardeners", "allotment owners", "florists", "landscape designers"),
        (
            "water the roses",
            "prune the apple tree",
            "pull out weeds",
            "spread compost on the beds",
        ),
    ),
    "railways": (
        ("train drivers", "conductors", "signal workers", "rail passengers"),
        (
            "wait at the platform",
            "repair the tracks",
            "check the tickets",
            "miss the express train",
        ),
    ),
    "school": (
        ("teachers", "pupils", "head teachers", "school inspectors"),
        (
            "mark the homework",
            "sit in the classroom",
            "write the spelling test",
            "discuss the timetable",
        ),
    ),
    "banking": (
        ("bankers", "loan officers", "mortgage brokers", "bank customers"),
        (
            "raise the interest rate",
            "open a savings account",
            "refuse the loan",
            "transfer the deposit",
        ),
    ),
    "music": (
        ("violinists", "orchestra conductors", "pianists", "opera singers"),
        (
            "rehearse the symphony",
            "tune the instruments",
            "perform the concerto",
            "read the score",
        ),
    ),
    "weather": (
        ("meteorologists", "weather stations", "storm chasers", "forecasters"),
        (
            "predict heavy rain",
            "measure the wind speed",
            "warn of a hurricane",
            "record the temperature",
        ),
    ),
    "computers": (
        ("programmers", "system administrators", "software testers", "web developers"),
        (
            "debug the code",
            "restart the server",
            "update the database",
            "review the pull request",
        ),
    ),
    "farming": (
        ("farmers", "shepherds", "dairy workers", "tractor drivers"),
        (
            "milk the cows",
            "plough the field",
            "harvest the wheat",
            "feed the sheep",
        ),
    ),
    "sailing": (
        ("sailors", "yacht captains", "fishermen", "harbour pilots"),
        (
            "hoist the sail",
            "anchor in the bay",
            "steer through high waves",
            "mend the fishing nets",
        ),
    ),
    "fashion": (
        ("tailors", "dress designers", "models", "shoemakers"),
        (
            "sew the silk dress",
            "present the winter collection",
            "choose the fabric",
            "measure the sleeves",
        ),
    ),
    "law": (
        ("lawyers", "judges", "prosecutors", "jurors"),
        (
            "question the witness",
            "read the verdict",
            "appeal against the sentence",
            "examine the evidence",
        ),
    ),
    "building": (
        ("bricklayers", "architects", "roofers", "crane operators"),
        (
            "lay the foundation",
            "draw the floor plan",
            "pour the concrete",
            "repair the roof",
        ),
    ),
    "mountains": (
        ("climbers", "mountain guides", "skiers", "rescue teams"),
        (
            "reach the summit",
            "cross the glacier",
            "fear the avalanche",
            "fix the ropes",
        ),
    ),
    "elections": (
        ("candidates", "voters", "party leaders", "pollsters"),
        (
            "count the ballots",
            "campaign before the election",
            "debate the tax reform",
            "win the majority in parliament",
        ),
    ),
    "pets": (
        ("dog owners", "veterinarians", "cat breeders", "animal shelters"),
        (
            "walk the puppies",
            "vaccinate the kittens",
            "brush the fur",
            "buy food for the dogs",
        ),
    ),
    "painting": (
        ("painters", "museum curators", "art critics", "sculptors"),
        (
            "mix the oil colours",
            "hang the portrait",
            "praise the exhibition",
            "sketch the still life",
        ),
    ),
    # Two topics of documents without queries, and two of queries without documents.
    "particle physics": (
        ("particle physicists", "collider experiments", "theorists", "cosmologists"),
        (
            "search for the Higgs boson",
            "compute quark masses",
            "detect neutrinos",
            "renormalise quantum field theories",
        ),
    ),
    "Roman history": (
        ("Roman emperors", "legionaries", "senators of Rome", "gladiators"),
        (
            "conquer Gaul",
            "obey Julius Caesar",
            "fight in the Colosseum",
            "plot in the ancient forum",
        ),
    ),
    "chess": (
        ("chess grandmasters", "chess engines", "bishops", "pawns"),
        (
            "defend the Sicilian opening",
            "threaten checkmate",
            "attack the black queen",
            "castle on the king's side",
        ),
    ),
    "geology": (
        ("geologists", "volcanologists", "tectonic plates", "mineral collectors"),
        (
            "date the basalt",
            "examine quartz crystals",
            "push up sedimentary rock",
            "study magma and lava",
        ),
    ),
}
SHARED = tuple(TOPICS)[:20]
"""Topics of documents and queries."""
UNASKED = ("particle physics", "Roman history")
"""Topics of documents that no query is about."""
FOREIGN = ("chess", "geology")
"""Topics of queries that no document is about."""
ENDINGS = (
    "early in the morning",
    "every week",
    "with great care",
    "for the first time",
    "although it takes long",
    "as the newspaper reports",
    "together",
)
QUESTIONS = ("How do {} {}?", "Why would {} {}?", "When should {} {}?")


def document_sentences() -> tuple[list[str], list[str]]:
    """Write 32 statements about each topic, and return the topic of each."""
    sentences, topics = [], []
    for topic, parts in TOPICS.items():
        for number, (who, action) in enumerate(itertools.product(*parts)):
            for shift in (0, 3):
                ending = ENDINGS[(number + shift) % len(ENDINGS)]
                sentences.append(f"{who.capitalize()} {action} {ending}.")
                topics.append(topic)
    return sentences, topics


def query_sentences() -> tuple[list[str], list[str]]:
    """Write 48 questions about each topic, and return the topic of each."""
    sentences, topics = [], []
    for topic, parts in TOPICS.items():
        for who, action in itertools.product(*parts):
            sentences += [question.format(who, action) for question in QUESTIONS]
            topics += [topic] * len(QUESTIONS)
    return sentences, topics


def ten_sentences() -> list[str]:
    """Return ten statements about different topics."""
    return document_sentences()[0][::64][:10]
