"""Recommenders and word vectors: libraries whose objects hold one or two tables.

Each module describes one library as a `Library`: the attributes that hold its tables,
biases and ids, the function that builds the model, and the method that scores. To add a
library, write such a module and add its `Library` to `LIBRARIES`.
"""

from embaudit.io.objects.libraries.cornac import CORNAC
from embaudit.io.objects.libraries.gensim import GENSIM
from embaudit.io.objects.libraries.implicit import IMPLICIT
from embaudit.io.objects.libraries.lenskit import LENSKIT
from embaudit.io.objects.libraries.library import Library
from embaudit.io.objects.libraries.lightfm import LIGHTFM
from embaudit.io.objects.libraries.recbole import RECBOLE
from embaudit.io.objects.libraries.surprise import SURPRISE

LIBRARIES: tuple[Library, ...] = (
    IMPLICIT,
    SURPRISE,
    CORNAC,
    LENSKIT,
    RECBOLE,
    LIGHTFM,
    GENSIM,
)
