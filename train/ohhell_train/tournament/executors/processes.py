"""Who plays the units of a tournament: this process, or some beside it, over pipes.

Every unit comes back once, in any order. Workers are started anew ("spawn"), so that threads and
open files of this process do no harm; a program that starts them from its own file needs the usual
``if __name__ == "__main__":``.
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
from ohhell_train.tournament.units import Part, Room, Unit

Played = tuple[Unit, Part]
"""A unit and what happened in it."""

_GRACE = 2.0  # seconds that a worker has to end by itself


def use_one_thread() -> None:
    """Keeps torch to one thread, whether it is loaded already or will be with the first network.

    With company on the machine two threads are ten times slower than one.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


@dataclass(frozen=True)
class Setup:
    """What a worker needs to know of a tournament."""

    config: TournamentConfig
    """The settings, rules resolved, without the entrants."""
    entrants: bytes
    """The entrants as they were asked for, pickled."""

    @classmethod
    def of(cls, config: TournamentConfig) -> Setup:
        """Returns what workers need to know of a tournament whose rules are resolved.

        Raises:
            OhHellError: An entrant that cannot be sent to another process.
        """
        return cls(config.model_copy(update={"entrants": ()}), _pickled(config.entrants))

    def made(self) -> Room:
        """Returns deals and entrants."""
        entrants = pickle.loads(self.entrants)
        return Room.of(self.config.model_copy(update={"entrants": entrants}))


def play_inline(room: Room, units: Agenda | Sequence[Unit]) -> Generator[Played]:
    """Plays units one after the other in this process.

    Yields:
        Each unit and what happened in it.
    """
    for unit in Agenda.of(units):
        yield unit, room.play(unit)


def play_in_processes(
    setup: Setup, units: Agenda | Sequence[Unit], workers: int
) -> Generator[Played]:
    """Plays units in worker processes, each with one thread.

    Args:
        setup: The tournament.
        units: The units.
        workers: Number of processes at most.

    Yields:
        Each unit and what happened in it, as they come.

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
        note: File in which it notes whom it asks.
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
        with contextlib.suppress(OSError):  # it died; its answer will say so
            self.pipe.send(unit)

    def answer(self) -> Played:
        try:
            answer = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(_GRACE)
            how = f"{how_ended(self.process.exitcode)}){blamed(self._note)}"
            raise OhHellError(
                f"a worker process died ({how}; a store keeps what was played, the same command "
                "goes on"
            ) from None
        self._busy = False
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def dismiss(self) -> None:
        """Has it end by itself, or at once if it plays."""
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
    """Returns what a note says of the end of a process, to stand behind the news of it."""
    name = last_asked.who(note)
    if name is None:
        return ", for want of memory perhaps (fewer --workers need less)"
    return (
        f" while entrant {shown_path(name)!r} was asked: it ended the process, or memory was short"
    )


def _share_out(pool: list[_Worker], agenda: Agenda) -> Generator[Played]:
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
            else:  # before the others wait for what is made of this answer
                busy[worker.pipe] = worker
                worker.give(unit)
            yield played


def _work(pipe: Connection, setup: Setup, note: str) -> None:
    """Plays what comes through the pipe, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tournament's own process sees to it
    signal.signal(signal.SIGTERM, _end_at_once)
    end_with_parent()
    warnings.simplefilter("ignore")  # they were shown when the tournament began
    last_asked.keep(note)
    with contextlib.suppress(EOFError, BrokenPipeError):
        try:
            use_one_thread()
            room = setup.made()
            use_one_thread()
            with contextlib.closing(room):
                while True:
                    unit = pipe.recv()
                    pipe.send((unit, room.play(unit)))
        except (EOFError, BrokenPipeError):
            raise
        except BaseException as error:
            pipe.send(sendable(error))
        finally:
            end_all()


def _end_at_once(*_: object) -> None:
    """Ends a process and its programs, whatever a player that is being asked would catch."""
    end_all()
    os._exit(128 + signal.SIGTERM)


def end_with_parent() -> None:
    """Ends this process and its programs when the process that started it is gone (kill -9)."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        end_all()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def sendable(error: BaseException) -> BaseException:
    """Returns the error as the tournament's own process can raise it."""
    if isinstance(error, KeyboardInterrupt):  # a player raised it: Ctrl-C does not come here
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
    """A process that starts here ignores Ctrl-C from its first moment on."""
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
