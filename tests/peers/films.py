"""The ratings on which every library is trained, with the ids of their file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

if TYPE_CHECKING:
    from pathlib import Path

OFTEN = 50
"""How often a film has to be rated to take part."""


@dataclass(frozen=True)
class Films:
    """Who rated what; users and films go by the numbers of MovieLens, which are no row
    numbers.
    """

    frame: pd.DataFrame
    """userId, movieId, rating, timestamp."""
    titles: Path
    """The table of titles."""

    @classmethod
    def of(cls, folder: Path) -> Films:
        """Read the ratings of films that are rated often, in an order that no library
        could mistake for that of ids.
        """
        frame = pd.read_csv(folder / "ratings.csv")
        counts = frame.groupby("movieId")["rating"].transform("size")
        kept = frame[counts >= OFTEN].sample(frac=1.0, random_state=0)
        return cls(kept.reset_index(drop=True), folder / "movies.csv")

    @cached_property
    def users(self) -> Any:
        """Ids of users, one per row of `matrix`."""
        return pd.unique(self.frame["userId"])

    @cached_property
    def items(self) -> Any:
        """Ids of films, one a column of `matrix`."""
        return pd.unique(self.frame["movieId"])

    @cached_property
    def matrix(self) -> csr_matrix:
        """Ratings as a sparse matrix."""
        rows = pd.Index(self.users).get_indexer(self.frame["userId"])
        columns = pd.Index(self.items).get_indexer(self.frame["movieId"])
        values = self.frame["rating"].to_numpy(np.float32)
        return csr_matrix(
            (values, (rows, columns)), shape=(len(self.users), len(self.items))
        )

    def ids_in(self, folder: Path) -> dict[str, str]:
        """Write the ids of both sides into a folder, for files that hold none; what
        `load` has to be told of them.
        """
        for name, ids in (("users", self.users), ("items", self.items)):
            np.save(folder / f"{name}.npy", ids)
        return {"left_ids": str(folder / "users.npy"), "ids": str(folder / "items.npy")}
