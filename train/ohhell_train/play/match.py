"""``Match``: one game of a person against players, with hints, undo, events and the record.

It knows nothing of screens. The table and the lines show ``view`` and pass the person's choice to
``choose``. The other seats' moves come from ``question``, ``think`` (slow, in any thread) and
``answer``, or all at once from ``advance``.
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
from ohhell_train.play.events import (
    SheetRow,
    Trick,
    final,
    last_trick,
    move_lines,
    opening,
    paid_line,
    sheet_row,
)
from ohhell_train.play.names import Seated
from ohhell_train.play.others import Others, Question
from ohhell_train.play.view import PersonView, person_view


@dataclass(frozen=True)
class _Snapshot:
    """The match at one of the person's decisions."""

    game: Game
    moves: int
    events: int


class Match:
    """A game of one person against players.

    Args:
        game: The game, before its first bid.
        seat: The person's seat.
        others: The players in the other seats.
        seated: Names and players, by seat.
        adviser: The player that gives hints; None for no hints.
        practice: Whether the person can take moves back.
        record: File to write the game to; None writes nothing.

    Raises:
        OhHellError: A player cannot begin, or the file cannot be written.
    """

    def __init__(
        self,
        game: Game,
        seat: int,
        others: Others,
        seated: Sequence[Seated],
        adviser: Adviser | None = None,
        practice: bool = False,
        record: Path | None = None,
    ) -> None:
        self.game, self.seat, self.seated = game, seat, list(seated)
        self.names = [each.name for each in seated]
        self.practice, self.path = practice, record
        self.moves = 0
        """Number of bids and cards so far."""
        self._closed = False
        self._others, self._adviser = others, adviser
        self._snapshots: list[_Snapshot] = []
        self._thoughts: dict[int, tuple[int, int, Thought]] = {}
        self._question: Question | None = None
        self.sheet: list[SheetRow] = []
        """The finished deals."""
        self.trouble = ""
        """The reason why the record could not be written; empty if it was written."""
        others.begin()
        self.view: PersonView = person_view(game, seat)
        self.events: list[str] = [opening(self.view, self.names)]
        """The game so far, one line for each event."""
        if record is not None:
            save_record(self.record(), record)

    # ------------------------------------------------------------------ the present state

    @property
    def mine(self) -> bool:
        """Whether it is the person's turn."""
        return self.view.mine

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return self.game.over

    @property
    def last_trick(self) -> Trick | None:
        """The last finished trick; None before the first."""
        return last_trick(self.view, self.sheet)

    @property
    def adviser(self) -> str:
        """The name of the player that gives hints; empty if nobody does."""
        return "" if self._adviser is None else self._adviser.name

    @property
    def rules_text(self) -> str:
        """The rules of the game in plain words."""
        return explain(self.game.rules)

    # ------------------------------------------------------------------ moves

    def choose(self, action: int) -> None:
        """Makes the person's bid or plays the person's card.

        Raises:
            IllegalActionError: The action is not legal now; nothing has changed.
            OhHellError: It is not the person's turn.
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
        """Returns the decision of another seat that the game waits for; None if it waits for none.

        It returns the same object until the question is answered.
        """
        if self.mine or self.over:
            return None
        if self._question is None:
            self._question = self._others.question(self.game, self.moves)
        return self._question

    def think(self, question: Question) -> int:
        """Returns the action of another seat. It changes nothing; any thread may call it.

        Raises:
            PlayerError: The player failed; you may ask it again.
        """
        return self._others.answer(question)

    def answer(self, question: Question, action: int) -> bool:
        """Makes the move of another seat.

        Returns:
            False if the question is out of date, because the person took moves back.
        """
        if question is not self._question:
            return False
        self._apply(action)
        return True

    def advance(self) -> None:
        """Plays on until it is the person's turn or the game is over.

        Raises:
            PlayerError: A player failed; the game waits for its move.
        """
        while (question := self.question()) is not None:
            self.answer(question, self.think(question))

    def _apply(self, action: int) -> None:
        before, scored = self.view, self.game.copy()
        self.game.apply(action)
        self._question = None
        self.moves += 1
        self.view = person_view(self.game, self.seat)
        ended = None
        if len(self.game.finished_deals) > len(self.sheet):
            batch.step_one(scored.state, scored.compiled, action)  # deals nothing after it
            self.sheet.append(sheet_row(scored))
            ended = self.game.finished_deals[-1], self.sheet[-1]
        self.events += move_lines(before, self.view, self.names, ended)
        if self.over:
            self.events += paid_line(self.game.settlement(), self.names)
            self.events.append(final(self.game.scores, self.game.winners(), self.names))
        if ended is not None:
            self.save()

    # ------------------------------------------------------------------ hints and undo

    def observation(self) -> Observation | None:
        """Returns the person's own view of the decision, in the adviser's layout.

        None if it is not the person's turn, or if there is no adviser.
        """
        return self._adviser.observation(self.game) if self.mine and self._adviser else None

    def advise(self, observation: Observation) -> Advice:
        """Returns a hint. It changes nothing; any thread may call it.

        Raises:
            OhHellError: The adviser failed, or there is none.
        """
        if self._adviser is None:
            raise OhHellError("there is no adviser at this table")
        return self._adviser.advise(observation)

    def keep(self, advice: Advice) -> None:
        """Keeps a hint for the present decision, so that it goes into the record."""
        deal = deal_record(self.game)
        made = len(deal["bids"]) + sum(map(len, deal["tricks"]))
        self._thoughts[self.moves] = len(self.game.finished_deals), made, advice.thought

    def hint(self) -> Advice | None:
        """Returns a hint for the person's decision; None if it is not the person's turn.

        Raises:
            OhHellError: The adviser failed.
        """
        observation = self.observation()
        if observation is None:
            return None
        advice = self.advise(observation)
        self.keep(advice)
        return advice

    @property
    def can_undo(self) -> bool:
        """Whether the person has made a move that can be taken back."""
        return bool(self._snapshots) and not self._closed

    def undo(self) -> bool:
        """Goes back to the person's last decision; only in practice.

        Returns:
            Whether there was one.
        """
        if not self.can_undo:
            return False
        kept = self._snapshots.pop()
        self.game, self.moves = kept.game, kept.moves
        self._question = None
        del self.events[kept.events :]
        self._thoughts = {m: thought for m, thought in self._thoughts.items() if m <= self.moves}
        self.view = person_view(self.game, self.seat)
        del self.sheet[len(self.game.finished_deals) :]
        return True

    # ------------------------------------------------------------------ the record

    def record(self) -> Record:
        """Returns the game so far, with the hints for the decisions made."""
        record = self.game.record()
        record["names"] = [each.recorded for each in self.seated]
        deals: list[list[Thought | None]] = [[] for _ in record["deals"]]
        for move, (deal, made, thought) in sorted(self._thoughts.items()):
            if move < self.moves:
                deals[deal] += [None] * (made - len(deals[deal]))
                deals[deal].append(thought)
        if any(deals):
            record["thoughts"] = {"player": self.adviser, "deals": deals}
        return record

    def save(self) -> None:
        """Writes the record, if there is a file for it; if that fails, ``trouble`` says why."""
        if self.path is None:
            return
        try:
            save_record(self.record(), self.path)
            self.trouble = ""
        except (OSError, OhHellError) as error:
            self.trouble = f"{self.path} cannot be written: {getattr(error, 'strerror', error)}"

    def close(self) -> None:
        """Writes the record and ends the players, programs for instance.

        A second call does nothing, unless the record could not be written before.
        """
        if not self._closed or self.trouble:
            self.save()
        if self._closed:
            return
        self._others.close()
        if self._adviser is not None:
            self._adviser.close()
        self._closed = True
