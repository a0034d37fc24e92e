"""Tables of several numbers of players, played in parallel in one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_train.ppo.rollout import LAP_FIELDS, Lap, LapTables, Policy


class TableGroups:
    """Groups of tables as one: the columns of one group follow those of the group before.

    A lap is one decision of every seat, for any number of players, so the groups stay in step.

    Args:
        groups: Tables of one layout that share one generator; the number of players may differ.
    """

    def __init__(self, groups: Sequence[LapTables]) -> None:
        self.groups = tuple(groups)
        first = self.groups[0]
        assert all(group.layout == first.layout for group in groups), "one network reads all"
        assert all(group.random is first.random for group in groups), "one state is saved"
        self.layout, self.width, self.random = first.layout, first.width, first.random
        self.opponents = first.opponents
        self.rules = first.rules if len(groups) == 1 else None
        """The rules of all tables, or None if their numbers of players differ."""
        self.num_columns = sum(group.num_columns for group in groups)
        self.scale = np.concatenate([group.scale for group in groups])
        """(C,) points that make one unit of reward."""

    def play(self, policy: Policy) -> Lap:
        """Plays one lap at every table and returns it; see ``LapTables.play``."""
        laps = [group.play(policy) for group in self.groups]
        if len(laps) == 1:
            return laps[0]
        parts = {name: [getattr(lap, name) for lap in laps] for name in LAP_FIELDS}
        return Lap(**{name: np.concatenate(part) for name, part in parts.items()})

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns everything needed to continue from here, except the state of ``random``."""
        return {
            f"{number}.{name}": value
            for number, group in enumerate(self.groups)
            for name, value in group.state().items()
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continues from a ``state`` of the same groups."""
        for number, group in enumerate(self.groups):
            group.restore({name: state[f"{number}.{name}"] for name in group.state()})
