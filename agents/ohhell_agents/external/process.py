"""``process:COMMAND``: a player in any language, a program that answers JSON lines.

Settings may precede the command: ``process:time_limit_ms=2000:COMMAND``.

``protocol.py`` defines the lines, and ``program.py`` runs the program.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ohhell_agents.base import Actions, Agent, Bytes, RandomBits
from ohhell_agents.checkpoint_io import AgentPath, is_there
from ohhell_agents.external.program import LineProgram, ProgramError, words_of
from ohhell_agents.external.protocol import (
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
from ohhell_env.errors import IllegalActionError, OhHellError, nearest, shown, shown_path
from ohhell_env.rules import RulesLike

__all__ = ["ProcessAgent", "ProgramError", "make_program"]

_LONGEST = 10**9
"""Longest time limit in milliseconds, well within the system's limit for waiting."""
_SETTINGS = re.compile(r"((?:\w+=[^\s,:=]*,)*\w+=[^\s,:=]*:)?(.*)", re.DOTALL)
"""Settings followed by ":", or nothing; and the command."""


class ProcessAgent(Agent):
    """A program that plays, given the whole state at each decision.

    ``begin`` starts it. It runs until ``close``, which also happens at the end of a ``with`` block,
    when the agent is dropped, and when Python exits. A program that hangs, dies or writes anything
    but answers is ended, and the next ``begin`` starts it again.

    Args:
        command: The command line of the program, split as in a shell; no shell is started.
        seed: As for every player; the program does not use it.
        time_limit_ms: Time for one decision, in milliseconds.
        start_limit_ms: Time from the start of the program to its answer to the hello.

    Raises:
        ProgramError: The command is empty or has an unclosed quote.
        OhHellError: A limit is not a whole number from 1, or is longer than 11 days.
    """

    kind = "process"

    @property
    def one_by_one(self) -> bool:
        """True: the protocol has one answer for one request."""
        return True

    @property
    def needs_seat(self) -> bool:
        """True: the protocol uses the seats of the table."""
        return True

    def __init__(
        self,
        command: str,
        seed: int | None = None,
        time_limit_ms: int = 1000,
        start_limit_ms: int = 10_000,
    ) -> None:
        super().__init__(seed)
        words_of(command)
        self.command = command
        self.time_limit_ms = _limit("time_limit_ms", time_limit_ms)
        self.start_limit_ms = _limit("start_limit_ms", start_limit_ms)
        self.name, self.version = "", ""
        self.listen: Callable[[str, str], None] | None = None
        """Called with ">" or "<" and each line to or from the program; None: not called."""
        self._program: LineProgram | None = None
        self._asked = 0

    @property
    def fingerprint(self) -> str:
        """The command, and the SHA-256 of each file in it, as these files are now."""
        digests = [f"{word} sha256:{_digest(word)}" for word in _files(self.command)]
        return "; ".join([self.command, *digests])

    @property
    def pid(self) -> int | None:
        """ID of the program's process; None while it does not run."""
        running = self._program is not None and self._program.running
        return self._program.pid if running and self._program else None

    def begin(self, rules: RulesLike, seat: int | None = None) -> None:
        """Takes a seat, and starts the program if it is not running; see ``Agent.begin``.

        Raises:
            ProgramError: The program cannot be started, or does not answer the hello.
            IllegalActionError: The seat does not exist.
        """
        super().begin(rules, seat)
        if self.pid is None:
            self._start()

    def _start(self) -> None:
        program = LineProgram(self.command)
        answer = self._ask(program, HELLO, self.start_limit_ms)
        try:
            self.name, self.version = read_hello(answer)
        except AnswerError as error:
            raise program.failure(str(error)) from None
        self._program = program

    def choose(
        self,
        observations: Bytes,
        action_masks: Bytes,
        random_bits: RandomBits,
        deterministic: bool,
        /,
    ) -> Actions:
        """Returns an action for each row; see ``Agent.choose``.

        Raises:
            IllegalActionError: ``begin`` has not set the rules and the seat.
            ProgramError: The program failed.
        """
        rows = zip(observations, action_masks, strict=True)
        return np.array([self._decide(view, mask) for view, mask in rows], np.int64)

    def _decide(self, vector: Bytes, mask: Bytes) -> int:
        program = self._program
        if self.rules is None or self.seat is None:
            missing = "rules and seat" if self.rules is None else "seat (None until now)"
            raise IllegalActionError(
                f"program {shown_path(self.command)!r}: {missing} not set: observations count "
                "seats from the player's own, but the program needs those of the table; call "
                "begin(rules, seat) before act()"
            )
        if program is None or not program.running:
            raise ProgramError(
                f"program {shown_path(self.command)!r} is not running any more; begin(rules, seat) "
                "starts it again"
            )
        self._asked += 1
        legal, number = choices(mask, self.rules), self._asked
        message = {"id": number, **request(vector, legal, self.rules, self.seat)}
        message["time_limit_ms"] = self.time_limit_ms
        answer = self._ask(program, message, self.time_limit_ms)
        try:
            return read_action(answer, number, legal)
        except IllegalAnswerError as error:  # it follows the protocol, so it may continue
            raise ProgramError(f"program {shown_path(self.command)!r} {error}") from None
        except AnswerError as error:
            raise program.failure(str(error)) from None

    def _ask(self, program: LineProgram, message: dict[str, Any], limit_ms: int) -> bytes:
        line = line_of(message)
        if self.listen is not None:
            self.listen(">", line.decode())
        answer = program.ask(line, limit_ms)
        if self.listen is not None:
            self.listen("<", answer.decode("utf-8", "replace"))
        return answer

    def close(self) -> None:
        """Ends the program; the next ``begin`` starts it again."""
        if self._program is not None:
            self._program.close()
            self._program = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_program": None, "listen": None}

    def save(self, path: AgentPath) -> NoReturn:
        """Raises OhHellError: a program's state cannot be saved."""
        raise OhHellError(
            f"a program cannot be saved to {path}; make it again: make('process:{self.command}')"
        )


def make_program(spec: str, seed: int | None, settings: Mapping[str, Any]) -> ProcessAgent:
    """Returns the player for a command, which settings may precede.

    >>> agent = make_program("time_limit_ms=2000,start_limit_ms=60000:./bot --level 3", None, {})
    >>> agent.command, agent.time_limit_ms, agent.start_limit_ms
    ('./bot --level 3', 2000, 60000)

    Args:
        spec: The command, or "name=number,name=number:" and the command.
        seed: As in ``ProcessAgent``.
        settings: More settings, by name.

    Raises:
        OhHellError: A setting is unknown, given twice or out of range.
    """
    before, command = _SETTINGS.fullmatch(spec).groups()  # type: ignore[union-attr]
    pairs: list[tuple[str, Any]] = []
    for setting in before[:-1].split(",") if before else []:
        name, _, value = setting.partition("=")
        pairs.append((name, int(value) if re.fullmatch("[0-9]{1,18}", value) else value))
    pairs += settings.items()
    allowed = list(inspect.signature(ProcessAgent).parameters)[2:]
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name not in allowed:
            hint = nearest(name, allowed)
            raise OhHellError(f"player 'process:{spec}' has no setting {shown(name)}: {hint}")
        if name in found:
            raise OhHellError(f"player 'process:{spec}': {name} is given twice; give it once")
        found[name] = value
    return ProcessAgent(command, seed, **found)


def _files(command: str) -> list[str]:
    words = dict.fromkeys(words_of(command))
    return [word for word in words if is_there(Path(word)) and Path(word).is_file()]


def _digest(file: str) -> str:
    try:
        with Path(file).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable ({error.strerror})"


def _limit(name: str, value: Any) -> int:
    number = whole_number(value)
    if number is None or not 1 <= number <= _LONGEST:
        raise OhHellError(
            f"{name} must be a whole number of milliseconds from 1 to {_LONGEST}, got "
            f"{shown(value)}"
        )
    return number
