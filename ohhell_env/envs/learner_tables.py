"""``LearnerTables``: many tables at which one seat learns and players fill the others.

It is the core of every single-agent environment with more than one table (those of Gymnasium and
Stable-Baselines3). A step is one decision of the learner at every table; it ends at the learner's
next turn or at the end of its episode. The other seats decide in batches, for all tables at once;
decisions with only one legal action are skipped.
"""

from __future__ import annotations

import copy
import secrets
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ohhell_env.actions import whole_number
from ohhell_env.engine import batch, seat_loops
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.engine.layout import Rows, compile_rules, new_games
from ohhell_env.envs.arguments import ILLEGAL_POLICIES, check_one_of, check_seat
from ohhell_env.envs.batched import check_count
from ohhell_env.envs.opponents import Opponents, OpponentsLike
from ohhell_env.envs.rewards import check_reward, worst_honest
from ohhell_env.errors import IllegalActionError, RulesError, shown
from ohhell_env.first_deal import check_hand_size
from ohhell_env.game import Game, check_episode, check_seed
from ohhell_env.illegal import explain_illegal
from ohhell_env.observation import Layout, layout_of
from ohhell_env.rules import Rules, RulesLike, as_rules

AUTORESETS = ("same_step", "next_step", "disabled")
"""When the next episode begins, named after Gymnasium's ``AutoresetMode``."""


class LearnerTables:
    """Many tables of Oh Hell from the learner's seat, over arrays written in place.

    Table i deals the cards of random stream (seed, i), as in ``BatchedOhHell``. A second stream of
    the same number draws the seats and the random numbers of players that accept them (those of
    ``agents``). So the play at a table does not depend on the number of tables.

    >>> tables = LearnerTables(3, "oh_hell", opponents=lambda observation, info:
    ...     int(observation["action_mask"].argmax()), seed=7)
    >>> tables.reset()
    >>> tables.step(tables.action_masks.argmax(axis=1))
    >>> tables.rewards.shape, bool(tables.action_masks.any(axis=1).all())
    ((3,), True)

    Args:
        num_tables: Number of tables, N.
        rules: Rules, the name of a variant, or the path of a YAML file.
        players: Overrides the number of players of the rules.
        opponents: One player for all other seats, or a list with one for each, clockwise from the
            learner: names that ``ohhell_agents.make`` accepts, agents, or functions of observation
            and info.
        seat: The learner's seat; None: drawn at random for each episode.
        seed: Whole number from 0 to 2^64 - 1; None: drawn from the system.
        episode: "deal" (each episode is one deal) or "game" (the whole schedule).
        reward: "points", "relative", "win" or "settlement"; see ``envs/rewards.py``.
        layout: Observation layout, "default" or "universal".
        hand_size: With episode "deal", the only hand size; None: drawn from the schedule.
        illegal: "raise", or "terminate": an illegal action ends the learner's episode with the
            reward ``worst_honest``.
        autoreset: "same_step" (the next episode begins at once, and ``final_observations`` has the
            last view of the ended one), "next_step" (the next step begins it and ignores the
            action) or "disabled" (``reset_tables`` begins it).
        deterministic: Whether opponents that rate their actions take the best one.
        first_table: Index of table 0 in the seed's family of streams.

    Raises:
        OhHellError: A setting or a player is not allowed.
    """

    def __init__(
        self,
        num_tables: int,
        rules: RulesLike = "oh_hell",
        players: int | None = None,
        opponents: OpponentsLike = "heuristic",
        seat: int | None = None,
        seed: int | None = None,
        episode: str = "deal",
        reward: str = "points",
        layout: str = "default",
        hand_size: int | None = None,
        illegal: str = "raise",
        autoreset: str = "same_step",
        deterministic: bool = True,
        first_table: int = 0,
    ) -> None:
        self.num_tables = check_count(num_tables)
        self.rules: Rules = as_rules(rules, players)
        self.episode = check_episode(episode)
        self.hand_size = check_hand_size(hand_size)
        self.seed = check_seed(secrets.randbits(63) if seed is None else seed)
        self.first_table = check_seed(first_table, "first_table")
        self.seat = check_seat(seat, self.rules)
        """The learner's seat at every table; None: drawn at random for each episode."""
        self.layout: Layout = layout_of(self.rules, layout, self.hand_size)
        self.illegal = check_one_of("illegal", illegal, ILLEGAL_POLICIES)
        self.autoreset = check_one_of("autoreset", autoreset, AUTORESETS)
        self.reward = reward
        self._reward = check_reward(reward, self.episode, self.rules)
        self._opponents = Opponents(opponents, self.rules, self.hand_size, deterministic)
        self._ready = False
        self._allocate()

    def _allocate(self) -> None:
        tables, layout = self.num_tables, self.layout
        self._rules: Rows = compile_rules(self.rules, self.episode, self.hand_size)
        self._sections: Rows = layout.compiled()
        self.games: Rows = new_games(tables)
        """The engine's records, one ``GAME`` row per table."""
        self._seats: Rows = seat_loops.new_seats(tables)
        self._buffers = new_buffer(tables, layout.length), new_buffer(tables, layout.num_actions)
        self.observations: NDArray[np.int8] = _rows(self._buffers[0], tables)
        """int8 (N, L): the learner's view of each table, at its own decision or at the end."""
        self.action_masks: NDArray[np.int8] = _rows(self._buffers[1], tables)
        """int8 (N, A): 1 for each legal action; all 0 if the episode is over."""
        self.final_observations: NDArray[np.int8] = np.zeros((tables, layout.length), np.int8)
        """int8 (N, L): where ``dones``, the last view of the episode that ended. Only autoreset
        "same_step" writes it; otherwise ``observations`` holds that view."""
        self.rewards: NDArray[np.float32] = np.zeros(tables, np.float32)
        """float32 (N,): the learner's reward for the last step."""
        self.dones: NDArray[np.bool_] = np.zeros(tables, np.bool_)
        """bool (N,): whether the last step ended the learner's episode."""
        self.deal_ends: NDArray[np.bool_] = np.zeros(tables, np.bool_)
        """bool (N,): whether a deal ended in the last step."""
        self.final_seats: NDArray[np.int64] = np.zeros(tables, np.int64)
        """int64 (N,): where ``dones``, the learner's seat in the episode that ended."""
        self.final_scores: NDArray[np.int32] = np.zeros((tables, self.rules.players), np.int32)
        """int32 (N, players): where ``dones``, all scores of the episode that ended, by seat."""
        self.win_shares: NDArray[np.float64] = np.zeros(tables, np.float64)
        """float64 (N,): where ``dones``, the learner's share of the win; 0 after a fault."""
        self.faults: NDArray[np.bool_] = np.zeros(tables, np.bool_)
        """bool (N,): whether the last step ended the episode by an illegal action."""
        self.fault_reasons: dict[int, str] = {}
        """The reason for each fault, by table."""
        kinds = (np.int64, np.int64, np.uint64)
        self._questions: Any = tuple(np.zeros(tables, kind) for kind in kinds)
        self._all = np.arange(tables)

    @property
    def learner_seats(self) -> NDArray[np.int64]:
        """int64 (N,): the learner's seat at each table."""
        return self._seats["learner"].copy()

    # ------------------------------------------------------------------ episodes

    def reset(self, seed: int | None = None) -> None:
        """Begins an episode at every table, up to the learner's first decision.

        Args:
            seed: A new seed; None: restarts with the previous seed.
        """
        if seed is not None:
            self.seed = check_seed(seed)
        stream = np.uint64(self.seed), np.uint64(self.first_table)
        batch.seed_tables(self.games, *stream)
        seat_loops.seed_seats(self._seats, *stream)
        self._opponents.begin(None)
        self._clear()
        self._ready = True
        self._begin(self._all)
        self._show()

    def reset_tables(self, tables: Any) -> None:
        """Begins the next episode at some tables; their random streams continue.

        Args:
            tables: Their indices, whole numbers from 0 to N - 1.
        """
        self._check_ready()
        chosen = np.atleast_1d(np.asarray(tables, np.int64))
        if len(chosen) and not 0 <= int(chosen.min()) <= int(chosen.max()) < self.num_tables:
            raise RulesError(f"tables must be 0 to {self.num_tables - 1}, got {shown(tables)}")
        self._begin(np.unique(chosen))
        for array in (self.rewards, self.dones, self.deal_ends, self.faults):
            array[chosen] = 0
        self._show()

    def _begin(self, tables: NDArray[np.int64]) -> None:
        if not len(tables):
            return
        seat = -1 if self.seat is None else self.seat
        seat_loops.begin_at(self.games, self._rules, self._seats, tables, seat)
        self._play_others(tables)

    def _clear(self) -> None:
        for array in (self.rewards, self.dones, self.deal_ends, self.faults):
            array[:] = 0

    # ------------------------------------------------------------------ decisions

    def step(self, actions: Any) -> None:
        """Plays the learner's action at every table, and the others up to its next decision.

        Args:
            actions: Whole numbers (N,) of any integer dtype.

        Raises:
            IllegalActionError: An action is illegal and the policy is "raise" (then no table
                changed); the array has the wrong shape or dtype; a table's episode is over; or an
                opponent's answer was illegal (then call ``reset``).
        """
        self._check_ready()
        codes = self._checked(actions)
        ended = self._ended()
        tables = np.flatnonzero(~ended) if ended.any() else self._all
        tables, faulty = self._part(tables, codes)
        self._clear()
        self._seats["reward"] = 0
        self._seats["deals"] = 0
        self._ready = False  # until every opponent has answered
        self.fault_reasons = {table: self._fault(table, int(codes[table])) for table in faulty}
        chosen = codes if tables is self._all else codes[tables]
        seat_loops.answer(self.games, self._rules, self._seats, tables, chosen, self._reward)
        self._play_others(tables)
        self._begin(np.flatnonzero(ended))
        self._note(faulty)
        if self.autoreset == "same_step":
            self._follow(np.flatnonzero(self.dones))
        self._ready = True
        self._show()

    def _check_ready(self) -> None:
        if not self._ready:
            raise IllegalActionError("step() before reset(): call reset() first")

    def _checked(self, actions: Any) -> NDArray[np.int64]:
        array = np.asarray(actions)
        if array.dtype.kind not in "iu" or array.shape != (self.num_tables,):
            raise IllegalActionError(
                f"actions must be whole numbers of shape ({self.num_tables},), got "
                f"{array.dtype} of shape {array.shape}; nothing was applied"
            )
        codes = array.astype(np.int64, copy=False)
        inside = (array >= 0) & (array < self.layout.num_actions)
        if not inside.all():
            table = int(np.argmin(inside))
            raise IllegalActionError(
                f"table {table}: action {array[table]} is out of range "
                f"0..{self.layout.num_actions - 1}; nothing was applied at any table"
            )
        return codes

    def _ended(self) -> NDArray[np.bool_]:
        """Returns the tables that this step resets instead of playing, bool (N,)."""
        if self.autoreset == "same_step":
            return np.zeros(self.num_tables, np.bool_)
        over: NDArray[np.bool_] = self._seats["done"]  # users may have written to ``dones``
        if self.autoreset == "disabled" and over.any():
            raise IllegalActionError(
                f"tables {np.flatnonzero(over).tolist()}: the episode is over; reset them first "
                "with reset_tables()"
            )
        return over.copy()

    def _part(
        self, tables: NDArray[np.int64], codes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], list[int]]:
        """Returns the tables with legal actions, and those with illegal ones."""
        faulty: list[int] = []
        while True:
            chosen = codes if tables is self._all else codes[tables]
            place = int(seat_loops.first_illegal_of(self.games, tables, chosen))
            if place < 0:
                return tables, faulty
            table = int(tables[place])
            if self.illegal == "raise":
                error = explain_illegal(self._game(table), int(codes[table]))
                raise IllegalActionError(
                    f"table {table}: {error}; nothing was applied at any table"
                )
            faulty.append(table)
            tables = np.delete(tables, place)

    def _fault(self, table: int, action: int) -> str:
        error = explain_illegal(self._game(table), action)
        return str(error).removesuffix("; the game is unchanged")

    def _play_others(self, tables: NDArray[np.int64]) -> None:
        """Plays the other seats at some tables until the learner's turn or the end."""
        opponents, questions = self._opponents, self._questions
        while len(tables):
            count = seat_loops.waiting(
                self.games,
                self._rules,
                self._seats,
                tables,
                self._reward,
                opponents.places,
                questions,
            )
            tables, owners, random_bits = (array[:count].copy() for array in questions)
            for number in range(len(opponents.players) if count else 0):
                asked = owners == number
                if asked.any():
                    self._ask(number, tables[asked], random_bits[asked])

    def _ask(self, number: int, tables: NDArray[np.int64], random_bits: NDArray[np.uint64]) -> None:
        actions = self._opponents.ask(number, self.games, self._rules, tables, random_bits)
        seat_loops.answer(self.games, self._rules, self._seats, tables, actions, self._reward)

    def _note(self, faulty: list[int]) -> None:
        """Collects the results of the step, and ends the episodes with illegal actions."""
        seats = self._seats
        self.rewards[:] = seats["reward"]
        self.deal_ends[:] = seats["deals"] > 0
        for table in faulty:
            self.rewards[table] = worst_honest(self._game(table), self.reward)
            self.faults[table] = seats["done"][table] = True
        self.dones[:] = seats["done"]
        if self.dones.any():
            self._note_ends(np.flatnonzero(self.dones))

    def _note_ends(self, ended: NDArray[np.int64]) -> None:
        self.final_seats[ended] = self._seats["learner"][ended]
        self.final_scores[ended] = self.games["scores"][ended, : self.rules.players]
        shares, paid = np.zeros((2, self.rules.players))
        for table in ended.tolist():
            self.win_shares[table] = 0.0
            if not self.faults[table]:
                batch.results_one(self.games[table : table + 1], self._rules, shares, paid)
                self.win_shares[table] = shares[self.final_seats[table]]

    def _follow(self, ended: NDArray[np.int64]) -> None:
        """Keeps the last views of the episodes that ended, and begins the next ones."""
        if not len(ended):
            return
        self._show()
        self.final_observations[ended] = self.observations[ended]
        self._begin(ended)

    def _show(self) -> None:
        seat_loops.show(self.games, self._rules, self._sections, self._seats, *self._buffers)
        if self.autoreset != "same_step" and self._seats["done"].any():
            self.action_masks[self._seats["done"]] = 0

    def close(self) -> None:
        """Releases the resources of opponents given by name; ``reset`` restarts them."""
        self._opponents.close()

    def game(self, table: int) -> Game:
        """Returns a copy of one table as a ``Game``; see ``BatchedOhHell.game``."""
        self._check_ready()
        row = whole_number(table)
        if row is None or not 0 <= row < self.num_tables:
            raise RulesError(f"table must be 0 to {self.num_tables - 1}, got {shown(table)}")
        return self._game(row)

    def _game(self, row: int) -> Game:
        game = Game(self.rules, self.seed, self.episode, self.hand_size)
        game.state[:] = self.games[row : row + 1]
        if self.first_table + row > 0:
            game.seed = None  # the seed of a Game refers to the first stream
        return game

    def __copy__(self) -> Self:
        """Returns an independent copy; a shallow one would share the tables and the players."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Returns everything except the arrays that share memory: a copy would separate them."""
        plain = {key: value for key, value in self.__dict__.items() if key not in _DERIVED}
        return plain | {name: plain[name].copy() for name in _KEPT}

    def __setstate__(self, plain: dict[str, Any]) -> None:
        self.__dict__.update({key: value for key, value in plain.items() if key not in _KEPT})
        self._allocate()
        for name in _KEPT:
            getattr(self, name)[:] = plain[name]
        self.fault_reasons = dict(plain["fault_reasons"])
        if self._ready:
            self._show()


_DERIVED = ("observations", "action_masks", "_buffers", "_rules", "_sections", "_questions", "_all")
_KEPT = (
    *("games", "_seats", "rewards", "dones", "deal_ends", "faults"),
    *("final_observations", "final_seats", "final_scores", "win_shares"),
)
"""The arrays that a copy keeps; all others follow from them."""


def _rows(buffer: NDArray[np.int8], rows: int) -> NDArray[np.int8]:
    return buffer[: len(buffer) - MARGIN].reshape(rows, -1)
