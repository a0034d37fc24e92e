"""``process:COMMAND``: a player in any language, a program that answers JSON lines.

``protocol.py`` says what the lines hold, ``program.py`` runs the program.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent, AgentPath
from agents.program import Program, ProgramError
from agents.protocol import (
    HELLO,
    AnswerError,
    IllegalAnswerError,
    choices,
    line_of,
    read_action,
    read_hello,
    request,
)
from ohhell_env.actions import whole_number
from ohhell_env.errors import IllegalActionError, OhHellError
from ohhell_env.rules import RulesLike

__all__ = ["ProcessAgent", "ProgramError"]


class ProcessAgent(Agent):
    """A program that plays, told the whole state at each decision.

    It is started by ``begin`` and runs until ``close`` (also at the end of a ``with`` block, when
    the agent is dropped, and when Python exits). A program that hangs, dies or writes something
    else than answers is ended, and started anew by the next ``begin``.

    Args:
        command: The command line of the program; split as a shell does, but no shell is started.
        seed: Of no use to the program; taken as by every player.
        time_limit_ms: Time for one decision, in milliseconds.
        start_limit_ms: Time from the start of the program to its answer to the hello.

    Raises:
        OhHellError: A limit that is no whole number from 1 on.
    """

    kind = "process"

    @property
    def one_by_one(self) -> bool:
        """True: the protocol knows one request and one answer."""
        return True

    @property
    def needs_seat(self) -> bool:
        """True: the protocol has the seats of the table."""
        return True

    def __init__(
        self,
        command: str,
        seed: int | None = None,
        time_limit_ms: int = 1000,
        start_limit_ms: int = 10_000,
    ) -> None:
        super().__init__(seed)
        self.command = command
        self.time_limit_ms = _limit("time_limit_ms", time_limit_ms)
        self.start_limit_ms = _limit("start_limit_ms", start_limit_ms)
        self.name, self.version = "", ""
        self.listen: Callable[[str, str], None] | None = None
        """Called with ">" or "<" and each line to or from the program, if you want to see them."""
        self._program: Program | None = None
        self._numbers = itertools.count(1)

    @property
    def pid(self) -> int | None:
        """Number of the program's process; None while it does not run."""
        running = self._program is not None and self._program.running
        return self._program.pid if running and self._program else None

    def begin(self, rules: RulesLike, seat: int | None = None) -> None:
        """Takes a seat, and starts the program if it does not run; see ``Agent.begin``.

        Raises:
            ProgramError: The program cannot be started or does not answer the hello.
            IllegalActionError: There is no such seat.
        """
        super().begin(rules, seat)
        assert self.rules is not None
        if seat is not None and not 0 <= seat < self.rules.players:
            raise IllegalActionError(
                f"seat: 0 to {self.rules.players - 1} at this table, got {seat!r}"
            )
        if self.pid is None:
            self._start()

    def _start(self) -> None:
        program = Program(self.command)
        answer = self._ask(program, HELLO, self.start_limit_ms)
        try:
            self.name, self.version = read_hello(answer)
        except AnswerError as error:
            raise program.failure(str(error)) from None
        self._program = program

    def choose(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        words: NDArray[np.uint64],
        deterministic: bool,
    ) -> NDArray[np.int64]:
        """Returns an action for each row; see ``Agent.choose``.

        Raises:
            IllegalActionError: ``begin`` has not told the rules and the seat.
            ProgramError: The program failed.
        """
        rows = zip(observations, action_masks, strict=True)
        return np.array([self._decide(view, mask) for view, mask in rows], np.int64)

    def _decide(self, vector: NDArray[np.int8], mask: NDArray[np.int8]) -> int:
        program = self._program
        if self.rules is None or self.seat is None:
            missing = "rules and seat" if self.rules is None else "seat (None until now)"
            raise IllegalActionError(
                f"program {self.command!r}: the {missing} are missing: an observation counts seats "
                "from its own on, the program is told those of the table; call begin(rules, seat) "
                "before act()"
            )
        if program is None or not program.running:
            raise ProgramError(
                f"program {self.command!r} does not run any more; begin(rules, seat) starts it anew"
            )
        legal, number = choices(mask, self.rules), next(self._numbers)
        message = {"id": number, **request(vector, legal, self.rules, self.seat)}
        message["time_limit_ms"] = self.time_limit_ms
        answer = self._ask(program, message, self.time_limit_ms)
        try:
            return read_action(answer, number, legal)
        except IllegalAnswerError as error:  # it keeps to the protocol, so it may go on
            raise ProgramError(f"program {self.command!r} {error}") from None
        except AnswerError as error:
            raise program.failure(str(error)) from None

    def _ask(self, program: Program, message: dict[str, Any], limit_ms: int) -> bytes:
        line = line_of(message)
        if self.listen is not None:
            self.listen(">", line.decode())
        answer = program.ask(line, limit_ms)
        if self.listen is not None:
            self.listen("<", answer.decode("utf-8", "replace"))
        return answer

    def close(self) -> None:
        """Ends the program; the next ``begin`` starts it anew."""
        if self._program is not None:
            self._program.close()
            self._program = None

    def __enter__(self) -> Self:
        """Returns the agent."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_program": None, "listen": None}

    def save(self, path: AgentPath) -> NoReturn:
        """Raises OhHellError: what the program knows is its own."""
        raise OhHellError(
            f"a program cannot be saved to {path}; make it again: make('process:{self.command}')"
        )


def _limit(name: str, value: Any) -> int:
    number = whole_number(value)
    if number is None or number < 1:
        raise OhHellError(f"{name}: a whole number of milliseconds from 1 on, got {value!r}")
    return number
