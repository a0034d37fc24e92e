"""Plays the units of a tournament in this process, or in worker processes over pipes.

Every unit comes back once, in any order. Workers start fresh ("spawn"), so that threads and open
files of this process do no harm. A program that starts them from its own file needs the usual ``if
__name__ == "__main__":``.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from ohhell_agents.external.program import end_all
from ohhell_env.errors import OhHellError, described, shown_path
from ohhell_env.players import NamedPlayer
from ohhell_train.tournament.config import TournamentConfig
from ohhell_train.tournament.executors import last_asked
from ohhell_train.tournament.executors.scratch import scratch_folder
from ohhell_train.tournament.given_up import Agenda
from ohhell_train.tournament.units import Contest, Unit, UnitResult

UnitPlayed = tuple[Unit, UnitResult]
"""A unit and its result."""

_GRACE = 2.0  # seconds that a worker has to end by itself


def use_one_thread() -> None:
    """Limits torch to one thread, whether it is loaded already or later.

    With other programs running, two threads are ten times slower than one.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


@dataclass(frozen=True)
class Setup:
    """The description of a tournament for a worker."""

    config: TournamentConfig
    """The settings without the entrants, with rules resolved."""
    entrants: bytes
    """The entrants as they were given, pickled."""

    @classmethod
    def of(cls, config: TournamentConfig) -> Setup:
        """Returns the description of a tournament whose rules are resolved.

        Raises:
            OhHellError: An entrant cannot be sent to another process.
        """
        return cls(config.model_copy(update={"entrants": ()}), _pickled(config.entrants))

    def made(self) -> Contest:
        """Returns deals and entrants."""
        entrants = pickle.loads(self.entrants)
        return Contest.of(self.config.model_copy(update={"entrants": entrants}))


def play_inline(contest: Contest, units: Agenda | Sequence[Unit]) -> Generator[UnitPlayed]:
    """Plays units one after the other in this process.

    Yields:
        Each unit and its result.
    """
    for unit in Agenda.of(units):
        yield unit, contest.play(unit)


def play_in_processes(
    setup: Setup, units: Agenda | Sequence[Unit], workers: int
) -> Generator[UnitPlayed]:
    """Plays units in worker processes, each with one thread.

    Args:
        setup: The tournament.
        units: The units.
        workers: The most processes.

    Yields:
        Each unit and its result, in the order of completion.

    Raises:
        OhHellError: A worker died.
    """
    agenda, pool = Agenda.of(units), list[_Worker]()
    with scratch_folder() as notes:
        try:
            for number in range(min(workers, len(agenda))):
                pool.append(_Worker(setup, notes / str(number)))
            yield from _share_out(pool, agenda)
        finally:
            for worker in pool:
                worker.dismiss()
            for worker in pool:
                worker.stop()


class _Worker:
    """A worker process and our end of the pipe to it.

    Args:
        setup: The tournament.
        note: File for its note of the player being asked.
    """

    def __init__(self, setup: Setup, note: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._note, self._busy = note, False
        self.process = context.Process(target=_work, args=(theirs, setup, str(note)), daemon=True)
        with _deaf_to_interrupts():
            self.process.start()
        theirs.close()

    def give(self, unit: Unit) -> None:
        self._busy = True
        with contextlib.suppress(OSError):  # it died, which its answer will show
            self.pipe.send(unit)

    def answer(self) -> UnitPlayed:
        try:
            answer = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(_GRACE)
            how = f"{how_ended(self.process.exitcode)}){blamed(self._note)}"
            raise OhHellError(
                f"a worker process died ({how}; a store keeps the tables played, and the same "
                "command continues"
            ) from None
        self._busy = False
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def dismiss(self) -> None:
        """Lets it end by itself, or ends it at once if it is playing."""
        self.pipe.close()
        if self._busy and self.process.is_alive():
            self.process.terminate()

    def stop(self) -> None:
        """Waits for its end, but not for long."""
        self.process.join(_GRACE)
        for end in (self.process.terminate, self.process.kill):
            if self.process.is_alive():
                end()
                self.process.join(_GRACE)
        self.process.join()


def blamed(note: Path) -> str:
    """Returns the end of an error message about a dead process, from its note."""
    name = last_asked.who(note)
    if name is None:
        return ", perhaps because memory ran out (fewer --workers need less)"
    return f" while entrant {shown_path(name)!r} was asked: it ended the process, or memory ran out"


def _share_out(pool: list[_Worker], agenda: Agenda) -> Generator[UnitPlayed]:
    busy: dict[Any, _Worker] = {}
    idle = list(pool)
    while True:
        while idle and (unit := agenda.take()) is not None:
            worker = idle.pop()
            busy[worker.pipe] = worker
            worker.give(unit)
        if not busy:
            return
        for pipe in wait(list(busy)):
            worker = busy.pop(pipe)
            played = worker.answer()
            if (unit := agenda.take()) is None:
                idle.append(worker)
            else:  # first, because the others wait while this answer is used
                busy[worker.pipe] = worker
                worker.give(unit)
            yield played


def _work(pipe: Connection, setup: Setup, note: str) -> None:
    """Plays the units from the pipe, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tournament's own process handles Ctrl-C
    signal.signal(signal.SIGTERM, _end_at_once)
    end_with_parent()
    warnings.simplefilter("ignore")  # they were shown when the tournament began
    last_asked.keep(note)
    with contextlib.suppress(EOFError, BrokenPipeError):
        try:
            use_one_thread()
            contest = setup.made()
            use_one_thread()
            with contextlib.closing(contest):
                while True:
                    unit = pipe.recv()
                    pipe.send((unit, contest.play(unit)))
        except (EOFError, BrokenPipeError):
            raise
        except BaseException as error:
            pipe.send(sendable(error))
        finally:
            end_all()


def _end_at_once(*_: object) -> None:
    """Ends the process and its programs, whatever a player might catch."""
    end_all()
    os._exit(128 + signal.SIGTERM)


def end_with_parent() -> None:
    """Ends this process and its programs when its parent process is gone (kill -9)."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        end_all()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def sendable(error: BaseException) -> BaseException:
    """Returns the error in a form that the tournament's own process can raise."""
    if isinstance(
        error, KeyboardInterrupt
    ):  # raised by a player, because Ctrl-C does not reach this process
        return KeyboardInterrupt()
    if isinstance(error, OhHellError):
        return OhHellError(str(error))
    return OhHellError(f"a worker process failed: {described(error)}")


def _pickled(entrants: Sequence[NamedPlayer]) -> bytes:
    for entrant in entrants:
        try:
            pickle.dumps(entrant)
        except Exception as error:
            raise OhHellError(
                f"entrant {shown_path(entrant.name)!r} cannot be sent to another process "
                f"({error!s:.80}); use one worker, or name the player in words"
            ) from None
    return pickle.dumps(list(entrants))


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Makes processes that start here ignore Ctrl-C from the beginning."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def how_ended(status: int | None) -> str:
    """Returns the exit status of a process in words."""
    if status is None:
        return "no status"
    return f"status {status}" if status >= 0 else f"by signal {-status}"
