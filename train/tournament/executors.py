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
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from ohhell_env.errors import OhHellError, shown
from ohhell_env.rules import Rules
from train.tournament.entrants import EntrantLike, make_entrants
from train.tournament.tables import Deals
from train.tournament.units import Part, Room, Unit

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

    rules: Rules
    seed: int
    hand_size: int | None
    episode: str
    entrants: bytes
    """The entrants as they were asked for, pickled."""

    @classmethod
    def of(cls, deals: Deals, wishes: Sequence[EntrantLike]) -> Setup:
        """Returns what workers need to know.

        Raises:
            OhHellError: An entrant that cannot be sent to another process.
        """
        entrants = _pickled(wishes)
        return cls(deals.rules, deals.seed, deals.hand_size, deals.episode, entrants)

    def made(self) -> Room:
        """Returns deals and entrants."""
        deals = Deals(self.rules, self.seed, self.hand_size, self.episode)
        return Room(deals, make_entrants(pickle.loads(self.entrants), self.rules, self.seed))


def play_inline(room: Room, units: Iterable[Unit]) -> Generator[Played]:
    """Plays units one after the other in this process.

    Yields:
        Each unit and what happened in it.
    """
    for unit in units:
        yield unit, room.play(unit)


def play_in_processes(setup: Setup, units: Sequence[Unit], workers: int) -> Generator[Played]:
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
    pool: list[_Worker] = []
    try:
        for _ in range(min(workers, len(units))):
            pool.append(_Worker(setup))
        yield from _share_out(pool, units)
    finally:
        for worker in pool:
            worker.stop()


class _Worker:
    """A worker process and our end of the pipe to it."""

    def __init__(self, setup: Setup) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, setup), daemon=True)
        with _deaf_to_interrupts():
            self.process.start()
        theirs.close()

    def give(self, unit: Unit) -> None:
        with contextlib.suppress(OSError):  # it died; its answer will say so
            self.pipe.send(unit)

    def answer(self) -> Played:
        try:
            answer = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(_GRACE)
            raise OhHellError(
                f"a worker process died ({_how(self.process.exitcode)}), for want of memory "
                "perhaps (fewer --workers need less); a store keeps what was played, the same "
                "command goes on"
            ) from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def stop(self) -> None:
        self.pipe.close()
        if self.process.is_alive():
            self.process.terminate()
        self.process.join(_GRACE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _share_out(pool: list[_Worker], units: Iterable[Unit]) -> Generator[Played]:
    waiting = iter(units)
    busy: dict[Any, _Worker] = {}

    def employ(worker: _Worker) -> None:
        unit = next(waiting, None)
        if unit is not None:
            busy[worker.pipe] = worker
            worker.give(unit)

    for worker in pool:
        employ(worker)
    while busy:
        for pipe in wait(list(busy)):
            worker = busy.pop(pipe)
            played = worker.answer()
            employ(worker)
            yield played


def _work(pipe: Connection, setup: Setup) -> None:
    """Plays what comes through the pipe, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tournament's own process sees to it
    warnings.simplefilter("ignore")  # they were shown when the tournament began
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
        except Exception as error:
            pipe.send(sendable(error))


def sendable(error: Exception) -> Exception:
    """Returns the error as the tournament's own process can raise it."""
    if isinstance(error, OhHellError):
        return OhHellError(str(error))
    return OhHellError(f"a worker process failed: {type(error).__name__}: {error}")


def _pickled(wishes: Sequence[EntrantLike]) -> bytes:
    for wish in wishes:
        try:
            pickle.dumps(wish)
        except Exception as error:
            raise OhHellError(
                f"entrant {shown(wish)} cannot be sent to another process ({error}); use one "
                "worker, or name the player in words"
            ) from None
    return pickle.dumps(list(wishes))


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


def _how(status: int | None) -> str:
    if status is None:
        return "no status"
    return f"status {status}" if status >= 0 else f"by signal {-status}"
