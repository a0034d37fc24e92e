"""``Match``: a game of one person against players; who is to act, hints, undo, events, record.

It knows nothing of screens. A face shows ``sight``, hands the person's choice to ``choose``, and
gets the others' moves by ``question``, ``think`` (slow, in any thread) and ``answer``, or all of
them at once by ``advance``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ohhell_env.engine import batch
from ohhell_env.errors import OhHellError
from ohhell_env.game import Game
from ohhell_env.records.record import Record, deal_record, save_record
from ohhell_env.records.thoughts import Thought
from ohhell_env.rules.explain import explain
from ohhell_train.play.advice import Advice, Adviser, Observation
from ohhell_train.play.others import Others, Question
from ohhell_train.play.sight import Sight, look
from ohhell_train.play.telling import (
    SheetRow,
    Trick,
    final,
    last_trick,
    opening,
    settled,
    sheet_row,
    tell,
)


@dataclass(frozen=True)
class _Snapshot:
    """The match at one of the person's decisions."""

    game: Game
    moves: int
    events: int


class Match:
    """A game of one person against players.

    Args:
        game: The table, before its first bid.
        seat: The person's seat.
        others: Who plays the other seats.
        names: Names by seat.
        adviser: Who gives hints; None: nobody.
        practice: Whether moves can be taken back.
        record: File to keep the game in; None: it is not kept.

    Raises:
        OhHellError: A player cannot begin, or the file cannot be written.
    """

    def __init__(
        self,
        game: Game,
        seat: int,
        others: Others,
        names: Sequence[str],
        adviser: Adviser | None = None,
        practice: bool = False,
        record: Path | None = None,
    ) -> None:
        self.game, self.seat, self.names = game, seat, list(names)
        self.practice, self.path = practice, record
        self.moves = 0
        """Bids and cards made in the game."""
        self._others, self._adviser = others, adviser
        self._snapshots: list[_Snapshot] = []
        self._thoughts: dict[int, tuple[int, int, Thought]] = {}
        self._question: Question | None = None
        self.sheet: list[SheetRow] = []
        """The finished deals."""
        self.trouble = ""
        """Why the record could not be written; empty where all is well."""
        others.begin()
        self.sight: Sight = look(game, seat)
        self.events: list[str] = [opening(self.sight, self.names)]
        """What happened, a line for each event."""
        if record is not None:
            save_record(self.record(), record)

    # ------------------------------------------------------------------ what is there

    @property
    def mine(self) -> bool:
        """Whether the person is to act."""
        return self.sight.mine

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return self.game.over

    @property
    def last_trick(self) -> Trick | None:
        """The trick that was finished last, if there is one."""
        return last_trick(self.sight, self.sheet)

    @property
    def adviser(self) -> str:
        """The name of the player that gives hints."""
        return "" if self._adviser is None else self._adviser.name

    @property
    def rules_text(self) -> str:
        """The rules of the game in plain words."""
        return explain(self.game.rules)

    # ------------------------------------------------------------------ moves

    def choose(self, action: int) -> None:
        """Makes the person's bid or plays the person's card.

        Raises:
            IllegalActionError: It may not be taken now; nothing has changed.
            OhHellError: The person is not to act.
        """
        if not self.mine:
            raise OhHellError("it is not your turn")
        kept = None
        if self.practice:
            kept = _Snapshot(self.game.copy(), self.moves, len(self.events))
        self._apply(action)
        if kept is not None:
            self._snapshots.append(kept)

    def question(self) -> Question | None:
        """Returns the decision of another seat that the game waits for; None where there is none.

        The same object is returned until it is answered.
        """
        if self.mine or self.over:
            return None
        if self._question is None:
            self._question = self._others.question(self.game, self.moves)
        return self._question

    def think(self, question: Question) -> int:
        """Returns what another seat does; changes nothing, and may be called in any thread.

        Raises:
            PlayerError: The player failed; it may be asked again.
        """
        return self._others.answer(question)

    def answer(self, question: Question, action: int) -> bool:
        """Makes the move of another seat.

        Returns:
            False where the question is not the present one, because moves were taken back.
        """
        if question is not self._question:
            return False
        self._apply(action)
        return True

    def advance(self) -> None:
        """Plays on until the person is to act or the game is over.

        Raises:
            PlayerError: A player failed; the game stands before its move.
        """
        while (question := self.question()) is not None:
            self.answer(question, self.think(question))

    def _apply(self, action: int) -> None:
        before, scored = self.sight, self.game.copy()
        self.game.apply(action)
        self._question = None
        self.moves += 1
        self.sight = look(self.game, self.seat)
        ended = None
        if len(self.game.finished_deals) > len(self.sheet):
            batch.step_one(scored.state, scored.compiled, action)  # deals nothing after it
            self.sheet.append(sheet_row(scored))
            ended = self.game.finished_deals[-1], self.sheet[-1]
        self.events += tell(before, self.sight, self.names, ended)
        if self.over:
            self.events += settled(self.game.settlement(), self.names)
            self.events.append(final(self.game.scores, self.game.winners(), self.names))
        if ended is not None:
            self.save()

    # ------------------------------------------------------------------ hints and undo

    def observation(self) -> Observation | None:
        """Returns what the adviser is to be shown: the person's own view of the decision.

        None where the person is not to act, or where there is no adviser.
        """
        return self._adviser.observation(self.game) if self.mine and self._adviser else None

    def advise(self, observation: Observation) -> Advice:
        """Returns a hint; changes nothing, and may be called in any thread.

        Raises:
            OhHellError: The adviser failed, or there is none.
        """
        if self._adviser is None:
            raise OhHellError("there is nobody to ask")
        return self._adviser.advise(observation)

    def keep(self, advice: Advice) -> None:
        """Notes a hint for the present decision, so that the record tells of it."""
        deal = deal_record(self.game)
        made = len(deal["bids"]) + sum(map(len, deal["tricks"]))
        self._thoughts[self.moves] = len(self.game.finished_deals), made, advice.thought

    def hint(self) -> Advice | None:
        """Returns a hint for the person's decision; None where the person is not to act."""
        observation = self.observation()
        if observation is None:
            return None
        advice = self.advise(observation)
        self.keep(advice)
        return advice

    @property
    def can_undo(self) -> bool:
        """Whether the person has made a move that can be taken back."""
        return bool(self._snapshots)

    def undo(self) -> bool:
        """Goes back to the person's last decision; only in practice.

        Returns:
            Whether there was one.
        """
        if not self._snapshots:
            return False
        kept = self._snapshots.pop()
        self.game, self.moves = kept.game, kept.moves
        self._question = None
        del self.events[kept.events :]
        self._thoughts = {m: told for m, told in self._thoughts.items() if m <= self.moves}
        self.sight = look(self.game, self.seat)
        del self.sheet[len(self.game.finished_deals) :]
        return True

    # ------------------------------------------------------------------ the record

    def record(self) -> Record:
        """Returns the game so far, with the hints for decisions that were made."""
        record = self.game.record()
        record["names"] = list(self.names)
        deals: list[list[Thought | None]] = [[] for _ in record["deals"]]
        for move, (deal, made, thought) in sorted(self._thoughts.items()):
            if move < self.moves:
                deals[deal] += [None] * (made - len(deals[deal]))
                deals[deal].append(thought)
        if any(deals):
            record["thoughts"] = {"player": self.adviser, "deals": deals}
        return record

    def save(self) -> None:
        """Writes the record, if there is to be one; ``trouble`` says whether that failed."""
        if self.path is None:
            return
        try:
            save_record(self.record(), self.path)
            self.trouble = ""
        except (OSError, OhHellError) as error:
            self.trouble = f"{self.path} cannot be written: {getattr(error, 'strerror', error)}"

    def close(self) -> None:
        """Writes the record and ends what the players hold."""
        self.save()
        self._others.close()
        if self._adviser is not None:
            self._adviser.close()
