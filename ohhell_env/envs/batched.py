"""``BatchedOhHell``: many tables at once, over arrays written in place."""

from __future__ import annotations

import copy
import secrets
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ohhell_env.actions import whole_number
from ohhell_env.engine import batch
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.engine.layout import Rows, compile_rules, new_games
from ohhell_env.envs.rewards import check_reward
from ohhell_env.errors import IllegalActionError, NotResetError, RulesError, shown
from ohhell_env.first_deal import check_hand_size
from ohhell_env.game import Game, check_episode, check_seed
from ohhell_env.illegal import explain_illegal
from ohhell_env.observation import Layout, layout_of
from ohhell_env.rules import Rules, RulesLike, as_rules
from ohhell_env.state import state_layout_of

MAX_TABLES = 1_000_000
"""The most tables in one batch; they take about a gigabyte."""
_KEPT = ("games", "rewards", "deal_ends", "dones")
"""The arrays that a copy keeps; all others follow from them."""


class BatchedOhHell:
    """Many tables of Oh Hell played side by side, without a Python object per step.

    All arrays are allocated once and written in place by ``reset`` and ``step``; copy what you
    want to keep. When a deal or an episode ends, the next one begins at once. Row i plays the cards
    of random stream (seed, i), for any number of tables. Row 0 plays the same game as the
    PettingZoo environment with that seed, and sees the same bytes.

    >>> tables = BatchedOhHell(num_tables=3, rules="oh_hell", seed=7)
    >>> tables.reset()
    >>> tables.step(tables.action_masks.argmax(axis=1))
    >>> tables.observations.shape[0], tables.rewards.shape
    (3, (3, 4))

    Args:
        num_tables: Number of tables, N, up to ``MAX_TABLES``.
        rules: Rules, the name of a variant, or the path of a YAML file.
        seed: Whole number from 0 to 2^64 - 1; None: drawn from the system.
        episode: "deal" (each episode is one deal) or "game" (the whole schedule).
        reward: "points", "relative", "win" or "settlement"; see ``envs/rewards.py``.
        layout: Observation layout, "default" or "universal".
        players: Overrides the number of players of the rules.
        hand_size: With episode "deal", the only hand size; None: drawn from the schedule.
        first_table: Index of row 0 in the seed's family of streams, to spread tables over
            processes.

    Raises:
        RulesError: A setting is not allowed.
    """

    def __init__(
        self,
        num_tables: int,
        rules: RulesLike = "oh_hell",
        seed: int | None = None,
        episode: str = "deal",
        reward: str = "points",
        layout: str = "default",
        players: int | None = None,
        hand_size: int | None = None,
        first_table: int = 0,
    ) -> None:
        self.num_tables = check_count(num_tables)
        self.rules: Rules = as_rules(rules, players)
        self.episode = check_episode(episode)
        self.hand_size = check_hand_size(hand_size)
        self.seed = check_seed(secrets.randbits(63) if seed is None else seed)
        self.first_table = check_seed(first_table, "first_table")
        self.layout: Layout = layout_of(self.rules, layout, self.hand_size)
        self.state_layout: Layout = state_layout_of(self.rules, layout, self.hand_size)
        self._reward = check_reward(reward, self.episode, self.rules)
        self._started = False
        self._allocate()

    def _allocate(self) -> None:
        tables, layout = self.num_tables, self.layout
        self._rules: Rows = compile_rules(self.rules, self.episode, self.hand_size)
        self._sections: Rows = layout.compiled()
        self.games: Rows = new_games(tables)
        """The engine's records, one ``GAME`` row per table; a new deal replaces an ended one."""
        observations = new_buffer(tables, layout.length)
        masks = new_buffer(tables, layout.num_actions)
        self.observations: NDArray[np.int8] = _rows(observations, tables)
        """int8 (N, L): the view of the acting seat at each table."""
        self.action_masks: NDArray[np.int8] = _rows(masks, tables)
        """int8 (N, A): 1 for each legal action at each table."""
        self.seats: NDArray[np.int64] = np.zeros(tables, np.int64)
        """int64 (N,): the seat to act at each table."""
        self.rewards: NDArray[np.float32] = np.zeros((tables, self.rules.players), np.float32)
        """float32 (N, players): rewards of all seats for the last step."""
        self.deal_ends: NDArray[np.bool_] = np.zeros(tables, np.bool_)
        """bool (N,): whether the last step ended a deal."""
        self.dones: NDArray[np.bool_] = np.zeros(tables, np.bool_)
        """bool (N,): whether the last step ended an episode."""
        self._states: NDArray[np.int8] | None = None
        self._arrays = (
            observations,
            masks,
            self.seats,
            self.rewards,
            self.deal_ends,
            self.dones,
        )

    def reset(self, seed: int | None = None) -> None:
        """Begins an episode at every table.

        Args:
            seed: A new seed; None: restarts with the previous seed.
        """
        if seed is not None:
            self.seed = check_seed(seed)
        batch.seed_tables(self.games, np.uint64(self.seed), np.uint64(self.first_table))
        batch.begin_all(self.games, self._rules)
        self.rewards[:] = 0
        self.deal_ends[:] = False
        self.dones[:] = False
        self._started = True
        self.refresh()

    def refresh(self) -> None:
        """Rewrites seats, observations and masks from ``games``."""
        self.seats[:] = self.games["seat"]
        observations, masks = self._arrays[:2]
        batch.observe_all(self.games, self._rules, self._sections, observations, masks)

    @property
    def states(self) -> NDArray[np.int8]:
        """int8 (N, S): full information about each table, hidden from agents.

        Each read rewrites the same array; steps without a read cost nothing. ``ohhell_env.state``
        describes the content.

        Raises:
            NotResetError: Before the first ``reset``.
        """
        if not self._started:
            raise NotResetError("states before reset(): call reset() first")
        if self._states is None:
            self._states = new_buffer(self.num_tables, self.state_layout.length)
        sections = self.state_layout.compiled()
        batch.write_states(self.games, self._rules, sections, self._states)
        return _rows(self._states, self.num_tables)

    def step(self, actions: NDArray[Any]) -> None:
        """Plays one action at every table, for its acting seat.

        All actions are checked first: if one is illegal, no table changes.

        Args:
            actions: Whole numbers (N,) of any integer dtype.

        Raises:
            IllegalActionError: An action is not legal at its table, the array has another shape
                or dtype, or ``reset`` has not been called.
        """
        given = self._checked(actions)
        codes = given.astype(np.int64, copy=False)
        bad = batch.first_illegal(self.games, codes)
        if bad >= 0:
            raise self._illegal(int(bad), int(given[bad]))
        batch.step_all(self.games, self._rules, self._sections, codes, self._reward, self._arrays)

    def _checked(self, actions: Any) -> NDArray[np.integer[Any]]:
        if not self._started:
            raise IllegalActionError("step() before reset(): call reset() first")
        try:
            array = np.asarray(actions)
        except (ValueError, TypeError, RuntimeError) as error:  # ragged, or a tensor out of reach
            raise IllegalActionError(f"actions: {error}; nothing was applied") from None
        if array.dtype.kind not in "iu" or array.shape != (self.num_tables,):
            raise IllegalActionError(
                f"actions must be whole numbers of shape ({self.num_tables},), got "
                f"{array.dtype} of shape {array.shape}; nothing was applied"
            )
        return array

    def _illegal(self, table: int, action: int) -> IllegalActionError:
        error = explain_illegal(self.game(table), action)
        return IllegalActionError(f"table {table}: {error}; nothing was applied at any table")

    def game(self, table: int) -> Game:
        """Returns a copy of one table as a ``Game``, to inspect or to play on.

        The copy does not know earlier deals, so in the middle of a game it has no ``record()``. It
        has a seed only if it is the first table of the seed's family.

        Args:
            table: Row of the table, 0 to N - 1.

        Raises:
            NotResetError: Before the first ``reset``.
            RulesError: The table does not exist.
        """
        if not self._started:
            raise NotResetError("game() before reset(): call reset() first")
        row = whole_number(table)
        if row is None or not 0 <= row < self.num_tables:
            raise RulesError(f"table must be 0 to {self.num_tables - 1}, got {shown(table)}")
        game = Game(self.rules, self.seed, self.episode, self.hand_size)
        game.state[:] = self.games[row : row + 1]
        if self.first_table + row > 0:
            game.seed = None  # the seed of a Game refers to the first stream
        return game

    def __copy__(self) -> Self:
        """Returns an independent copy, as ``copy.deepcopy`` does."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Returns everything except the arrays that share memory: a copy would separate them."""
        buffers = ("observations", "action_masks", "seats", "_arrays", "_rules", "_sections")
        buffers += ("_states",)
        plain = {key: value for key, value in self.__dict__.items() if key not in buffers}
        return plain | {name: plain[name].copy() for name in _KEPT}

    def __setstate__(self, plain: dict[str, Any]) -> None:
        self.__dict__.update({key: value for key, value in plain.items() if key not in _KEPT})
        self._allocate()
        for name in _KEPT:
            getattr(self, name)[:] = plain[name]
        if self._started:
            self.refresh()


def check_count(tables: Any) -> int:
    """Returns the number of tables, or raises RulesError."""
    count = whole_number(tables)
    if count is None or not 1 <= count <= MAX_TABLES:
        raise RulesError(
            f"num_tables must be a whole number from 1 to {MAX_TABLES}, got {shown(tables)}"
        )
    return count


def _rows(buffer: NDArray[np.int8], rows: int) -> NDArray[np.int8]:
    return buffer[: len(buffer) - MARGIN].reshape(rows, -1)
