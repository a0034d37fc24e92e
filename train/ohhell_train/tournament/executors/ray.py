"""Plays the units of a tournament with Ray, on this machine or on the machines of a cluster.

Workers are Ray actors with one CPU and one thread each. Every ready worker has one unit, so a
machine that is slower, or joins later, plays fewer. The unit of a lost worker goes to another one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import itertools
import os
import pickle
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ohhell_agents
import ohhell_env
import ohhell_train
from ohhell_agents import AGENTS
from ohhell_agents.checkpoint_io import is_there
from ohhell_agents.external.program import end_all
from ohhell_env.errors import OhHellError, shown
from ohhell_env.extras import what_is_missing
from ohhell_env.players import NamedPlayer
from ohhell_train.tournament.design import DRAWN
from ohhell_train.tournament.executors import last_asked
from ohhell_train.tournament.executors.processes import (
    Setup,
    UnitPlayed,
    blamed,
    sendable,
    use_one_thread,
)
from ohhell_train.tournament.executors.scratch import scratch_folder
from ohhell_train.tournament.given_up import Agenda
from ohhell_train.tournament.units import Contest, Unit

ATTEMPTS = 3
"""The most workers that a unit may cost, and the most actors lost before one is ready."""

PACKAGES = (ohhell_env, ohhell_agents, ohhell_train)
"""The packages that this machine sends to a cluster."""
EXCLUDED = ("__pycache__/", "*.nbi", "*.nbc")
"""What is left out of the packages, as lines of a ``.gitignore``."""

_GRACE = 2.0  # seconds that an idle worker has to close its players
_REACH = 10.0  # seconds for a first connection to a cluster
_JOIN = 30.0  # seconds for a trial of joining it
_PATIENCE = 900.0  # seconds until the first worker is ready; a cluster may have to start machines
_OBJECTS = 100_000_000  # bytes of shared memory of our own Ray instance; Ray's minimum is 75 MB
_LOCALHOST_ONLY = "ENABLE_RAY_CLUSTER"  # Ray's switch; its variable is read once, at the import


def play_on_ray(
    setup: Setup, units: Agenda | Sequence[Unit], workers: int, address: str | None
) -> Generator[UnitPlayed]:
    """Plays units in Ray actors, each with one thread.

    Args:
        setup: The tournament.
        units: The units.
        workers: The most actors.
        address: Address of the cluster: "auto", "host:port" or "ray://host:port"; None starts Ray
            on this machine, reachable only from it, which ends with the tournament.

    Yields:
        Each unit and its result, in the order of completion.

    Raises:
        OhHellError: Ray is not installed, is in use, or cannot be reached; or a unit has cost
            ``ATTEMPTS`` workers.
    """
    agenda = Agenda.of(units)
    if not agenda:
        return
    ray = _ray()
    wanted = min(workers, len(agenda))
    where = _own_ray(ray, wanted) if address is None else _joined_ray(ray, address)
    with where as notes, contextlib.closing(_Crew(ray, setup, notes)) as crew:
        yield from crew.play(agenda, wanted)


def _ray() -> Any:
    try:
        ray = importlib.import_module("ray")
    except ModuleNotFoundError as error:
        raise OhHellError(f"executor 'ray' {what_is_missing(error)}") from None
    if ray.is_initialized():
        raise OhHellError("this process already uses Ray; call ray.shutdown() before a tournament")
    return ray


class _Worker:
    """The code of an actor."""

    def __init__(self) -> None:
        self._contest: Contest | None = None

    def start(self, setup: Setup, note: str | None) -> BaseException | None:
        """Creates the entrants; returns an error, because Ray would wrap a raised one."""
        warnings.simplefilter("ignore")  # they were shown when the tournament began
        if note is not None:
            last_asked.keep(note)
        try:
            use_one_thread()
            with tempfile.TemporaryDirectory() as folder:
                self._contest = _unpacked(setup, Path(folder)).made()
            use_one_thread()
        except BaseException as error:
            return sendable(error)
        return None

    def play(self, unit: Unit) -> UnitPlayed | BaseException:
        assert self._contest is not None
        try:
            return unit, self._contest.play(unit)
        except BaseException as error:
            return sendable(error)

    def close(self) -> None:
        if self._contest is not None:
            self._contest.close()
        end_all()


@dataclass(frozen=True)
class _Job:
    """A worker's present job: a unit, or (None) its start."""

    worker: Any
    unit: Unit | None
    attempt: int
    """The number of the attempt to start it."""
    note: Path | None
    """File for its note of the player being asked; None if it may run on another machine."""


class _Crew:
    """The actors of a tournament.

    Args:
        ray: The package.
        setup: The tournament.
        notes: Folder for the workers' notes; None if they may run on other machines.
    """

    def __init__(self, ray: Any, setup: Setup, notes: Path | None) -> None:
        self._ray = ray
        self._notes, self._hired = notes, itertools.count()
        self._setup = ray.put(_packed(ray, setup, notes is None))
        self._names = [entrant.name for entrant in pickle.loads(setup.entrants)]
        self._kind = ray.remote(num_cpus=1, max_restarts=0)(_Worker)
        self._jobs: dict[Any, _Job] = {}
        self._agenda = Agenda(())
        self._lost: Counter[Unit] = Counter()

    def play(self, agenda: Agenda, workers: int) -> Generator[UnitPlayed]:
        """Plays units with at most this many workers; yields what ``play_on_ray`` does."""
        self._agenda = agenda
        for _ in range(workers):
            self._hire()
        while agenda or any(job.unit is not None for job in self._jobs.values()):
            if not self._jobs:
                self._hire()
            job, answer = self._next_answer()
            if isinstance(answer, BaseException):
                raise answer
            if job is not None:
                self._employ(job)
            if answer is not None:
                played, result = answer
                # Ray's arrays are read-only, and occupy its shared memory
                yield played, dataclasses.replace(result, blocks=result.blocks.copy())

    def close(self) -> None:
        for job in self._jobs.values():
            self._dismiss(job.worker)
        self._jobs.clear()

    def _hire(self, attempt: int = 1) -> None:
        """Requests a worker; it gets a unit once ready, because there may never be room for it.

        Args:
            attempt: The number of attempts, including this one.
        """
        worker = self._kind.remote()
        note = None if self._notes is None else self._notes / f"asked-{next(self._hired)}"
        started = worker.start.remote(self._setup, None if note is None else str(note))
        self._jobs[started] = _Job(worker, None, attempt, note)

    def _employ(self, job: _Job) -> None:
        unit = self._agenda.take()
        if unit is not None:
            self._jobs[job.worker.play.remote(unit)] = _Job(job.worker, unit, 1, job.note)
        else:
            with contextlib.suppress(Exception):  # it is lost, or too slow
                self._ray.get(job.worker.close.remote(), timeout=_GRACE)
            self._dismiss(job.worker)

    def _dismiss(self, worker: Any) -> None:
        with contextlib.suppress(Exception):  # it no longer exists
            self._ray.kill(worker)

    def _next_answer(self) -> tuple[_Job | None, Any]:
        """Returns a finished job with its answer; None and None: the worker was lost."""
        at_work = any(job.unit is not None for job in self._jobs.values())
        ready, _ = self._ray.wait(list(self._jobs), timeout=None if at_work else _PATIENCE)
        if not ready:
            free = self._ray.available_resources().get("CPU", 0.0)
            raise OhHellError(
                f"no worker of the Ray cluster was ready within {_PATIENCE:.0f} seconds; it has "
                f"{free:.0f} free CPUs, and every worker needs one"
            )
        job = self._jobs.pop(ready[0])
        errors = self._ray.exceptions
        try:
            return job, self._ray.get(ready[0])
        except errors.RuntimeEnvSetupError as error:
            raise OhHellError(
                f"the project's packages cannot be sent to the cluster: {_said(error)}"
            ) from None
        except errors.RayTaskError as error:
            raise OhHellError(f"a worker on Ray failed: {_said(error.cause or error)}") from None
        except errors.RayError as error:
            self._replace(job, error)
            return None, None

    def _replace(self, job: _Job, error: Exception) -> None:
        """Gives the work of a lost worker to another one."""
        self._dismiss(job.worker)
        if job.unit is None:
            if job.attempt >= ATTEMPTS:
                raise OhHellError(
                    f"{ATTEMPTS} workers on Ray, one after the other, died before they could play"
                    f"{self._blamed(job)}: {_said(error)}"
                )
            self._hire(job.attempt + 1)
            return
        self._lost[job.unit] += 1
        if self._lost[job.unit] >= ATTEMPTS:
            raise OhHellError(
                f"blocks {job.unit.first} to {job.unit.first + job.unit.blocks - 1} of a pairing "
                f"have cost {ATTEMPTS} workers on Ray{self._blamed(job)}; a store keeps the tables "
                f"played, and the same command continues. The last error: {_said(error)}"
            )
        self._agenda.put_back(job.unit)
        self._hire()

    def _blamed(self, job: _Job) -> str:
        """Returns who was being asked when a worker was lost, as far as it is known."""
        if job.note is not None:
            return blamed(job.note)
        if job.unit is None or job.unit.challenger == DRAWN:
            return ", perhaps because memory ran out, or a player ended its process"
        one, field = self._names[job.unit.challenger], self._names[job.unit.field]
        return (
            f", perhaps because memory ran out, or {shown(one)} or {shown(field)} ended its process"
        )


def _said(error: BaseException) -> str:
    """Returns an error's message in one line; Ray's errors hold a whole report."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:500]


@dataclass(frozen=True)
class _Saved:
    """An entrant that is a local file or folder, with its content."""

    name: str
    files: Mapping[str, bytes]
    """Content by path, starting with the name of the file or folder."""

    def unpacked(self, folder: Path) -> NamedPlayer:
        """Writes the files into a folder; returns the entrant that is made from them."""
        for name, content in self.files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return NamedPlayer(self.name, str(folder / Path(next(iter(self.files))).parts[0]))


def _packed(ray: Any, setup: Setup, away: bool) -> Setup:
    """Returns the setup in a form that workers can read.

    Classes of the main program are sent by value, because workers have another main program.

    Args:
        ray: The package.
        setup: The tournament.
        away: Whether to send local files too.
    """
    entrants = pickle.loads(setup.entrants)  # we pickled it a moment ago
    if away:
        entrants = [_with_files(entrant) for entrant in entrants]
    return dataclasses.replace(setup, entrants=ray.cloudpickle.dumps(entrants))


def _unpacked(setup: Setup, folder: Path) -> Setup:
    ray = importlib.import_module("ray")
    entrants = [
        entrant.unpacked(folder / str(place)) if isinstance(entrant, _Saved) else entrant
        for place, entrant in enumerate(pickle.loads(setup.entrants))
    ]
    return dataclasses.replace(setup, entrants=ray.cloudpickle.dumps(entrants))


def _with_files(entrant: NamedPlayer) -> NamedPlayer | _Saved:
    name, spec = entrant.name, entrant.spec
    if spec is None or spec in AGENTS or not is_there(Path(spec)):
        return entrant
    top = Path(spec).resolve()
    files = {
        file.relative_to(top.parent).as_posix(): file.read_bytes()
        for file in (top, *top.rglob("*"))
        if file.is_file()
    }
    return _Saved(name, files) if files else entrant


@contextlib.contextmanager
def _own_ray(ray: Any, workers: int) -> Iterator[Path]:
    """Runs Ray on this machine, for this machine alone, during the context; yields its folder."""
    constants = importlib.import_module("ray._private.ray_constants")
    with _unchanged(constants), scratch_folder() as folder:
        setattr(constants, _LOCALHOST_ONLY, False)  # otherwise it listens on all networks
        os.environ["RAY_AUTH_MODE"] = "token"  # keeps other users of the machine out
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(
            32
        )  # otherwise Ray leaves one in the home folder
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = (
            "0"  # otherwise Ray warns of future changes
        )
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        _read_environment_again()
        with _initialized(
            ray,
            address="local",
            num_cpus=workers,
            num_gpus=0,
            include_dashboard=False,
            object_store_memory=_OBJECTS,
            _node_ip_address="127.0.0.1",
            _temp_dir=str(folder),
        ):
            yield folder


@contextlib.contextmanager
def _joined_ray(ray: Any, address: str) -> Iterator[None]:
    """Joins the Ray of a cluster, with our packages on all its machines."""
    _check_reachable(address)
    folders = [str(Path(str(package.__file__)).parent) for package in PACKAGES]
    packages = {"py_modules": folders, "excludes": list(EXCLUDED)}
    constants = importlib.import_module("ray._private.ray_constants")
    with _unchanged(constants), _initialized(ray, address=address, runtime_env=packages):
        yield


@contextlib.contextmanager
def _initialized(ray: Any, **settings: Any) -> Iterator[None]:
    try:
        try:
            ray.init(log_to_driver=False, logging_level="error", **settings)
        except (Exception, SystemExit) as error:  # Ray exits after waiting for too long
            raise OhHellError(f"Ray cannot be started or joined: {_said(error)}") from None
        yield
    finally:
        ray.shutdown()


@contextlib.contextmanager
def _unchanged(constants: Any) -> Iterator[None]:
    """Restores afterwards what we change for Ray, and what Ray changes itself."""
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM) if is_main else None
    before = dict(os.environ)
    clusters = getattr(constants, _LOCALHOST_ONLY)
    try:
        yield
    finally:
        setattr(constants, _LOCALHOST_ONLY, clusters)
        for name in {name for name in {*before, *os.environ} if _is_ours(name)}:
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]
        _read_environment_again()
        if handler is not None:
            signal.signal(signal.SIGTERM, handler)


def _read_environment_again() -> None:
    """Makes Ray read its authentication settings again; it has no public way to do so."""
    core = importlib.import_module("ray._raylet")
    with contextlib.suppress(AttributeError):  # versions of Ray without tokens
        core.AuthenticationTokenLoader.instance().reset_cache()
        core.Config.initialize("")


def _is_ours(variable: str) -> bool:
    return variable.startswith("RAY_") or variable in {"PYTHONPATH", "PYTHONBREAKPOINT"}


def _check_reachable(address: str) -> None:
    """Lets another process join a cluster first, because a failure of Ray takes minutes, or aborts.

    Raises:
        OhHellError: The cluster cannot be joined.
    """
    host, port = _host_and_port(address)
    if host:
        try:
            socket.create_connection((host, port), timeout=_REACH).close()
        except OSError as error:
            raise OhHellError(f"no Ray cluster answers at {shown(address)}: {error}") from None
    rehearsal = "import ray, sys; ray.init(sys.argv[1], log_to_driver=False); ray.shutdown()"
    command = [sys.executable, "-c", rehearsal, address]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_JOIN,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OhHellError(
            f"no Ray cluster answers at {shown(address)} within {_JOIN:.0f} seconds"
        ) from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise OhHellError(
            f"the Ray cluster at {shown(address)} cannot be joined: {lines[-1][:500]}"
        )


def _host_and_port(address: str) -> tuple[str, int]:
    """Returns host and port of an address; "" and 0 for "auto".

    Raises:
        OhHellError: The address is malformed.
    """
    if address == "auto":
        return "", 0
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if not (separator and host.strip("[]") and port.isascii() and port.isdecimal()):
        raise OhHellError(
            f"address: must be 'auto', 'host:port' or 'ray://host:port', got {shown(address)}"
        )
    if len(port) > 9 or not 0 < int(port) < 65536:
        raise OhHellError(
            f"address {shown(address)}: the port must be a number from 1 to 65535, got {port[:80]}"
        )
    return host.strip("[]"), int(port)
