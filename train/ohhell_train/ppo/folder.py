"""The folder of a PPO run and its files.

::

    runs/quick-oh_hell/
      config.yaml          the settings, with the rules written out
      versions.json        versions of the libraries that trained it
      players.json         fingerprints of the trained players it meets, if any
      metrics.csv          one row for each rollout, with progress where it was measured
      state.safetensors    everything a resumed run needs, replaced in one move
      checkpoints/250000/  one player each, named by the decisions so far
      best/  last/         the player that measured best, and the newest
      start/               the player that the run began as, if any
      pool/500000/         past selves that the learner meets, one player each
      tensorboard/         the metrics again, for `tensorboard --logdir runs`
      .lock                held by the process that trains, with its number

Nothing here is pickled: tensors are safetensors, the rest is text.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ohhell_agents import make
from ohhell_agents.base import Agent
from ohhell_agents.checkpoint_io import WHOLE
from ohhell_agents.nn.agent import LearnedAgent
from ohhell_agents.nn.checkpoint import Checkpoint, save_checkpoint, weights_digest
from ohhell_agents.nn.network import Network
from ohhell_agents.two_part import PARTS, TwoPartAgent
from ohhell_env.errors import CheckpointError, OhHellError
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.learner import SelfPlayPPO
from ohhell_train.ppo.pool import Pool
from ohhell_train.ppo.state import put_back, tensors_of
from ohhell_train.runs.base import CONFIG, LEFT_OVER, START, RunFolder, how_many
from ohhell_train.runs.lock import InUseError
from ohhell_train.runs.network import checkpoint_in, start_network
from ohhell_train.runs.state import read_arrays, write_arrays

STATE = "state.safetensors"
CHECKPOINTS, POOL = "checkpoints", "pool"
_SAVED_AS = {"differences": "scores"}


@dataclass
class Counters:
    """The progress of a run so far."""

    decisions: int = 0
    """Decisions collected and trained on."""
    seconds: float = 0.0
    """Training time, over all interruptions."""
    measured: int = 0
    """Decisions when progress was last measured."""
    best: float | None = None
    """Best difference measured so far, in points a deal."""
    finished: bool = False
    """Whether the run is complete."""
    differences: dict[str, list[float]] = field(default_factory=dict)
    """The newest measurements by field: mean difference, lower and upper end of its interval."""

    def saved(self) -> dict[str, Any]:
        """Returns the counters as they are saved, where the differences are called scores."""
        return {_SAVED_AS.get(name, name): value for name, value in vars(self).items()}

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Counters:
        """Returns saved counters."""
        return cls(**{name: saved[_SAVED_AS.get(name, name)] for name in vars(cls())})


class PpoRun(RunFolder[PpoConfig]):
    """A folder that holds a PPO run; the module's docstring lists its files."""

    settings = PpoConfig
    _partner: Agent | None = None
    """The player of the part that the network does not learn, once it has been loaded."""

    def _bring(self, config: PpoConfig) -> None:
        if config.start is not None:
            folder = Path(config.start)
            save_checkpoint(self.path / START, checkpoint_in(folder, config.part))

    def done(self) -> str:
        """Returns the number of saved decisions, in words."""
        decisions = self.counters().decisions
        return how_many(decisions, "decision") if decisions else ""

    def finished(self) -> bool:
        """Returns whether the run is complete."""
        return self.counters().finished

    def summary(self) -> str:
        """Returns a short summary of the run."""
        counters = self.counters()
        speed = counters.decisions / max(counters.seconds, 1e-9)
        return (
            f"Trained on {counters.decisions:,} decisions in {counters.seconds / 60:.1f} minutes "
            f"({speed:,.0f}/s)"
        )

    @classmethod
    def open(cls, path: Path) -> PpoRun:
        """Returns the run of a folder, after repairing what a kill left unfinished.

        Raises:
            RulesError: The folder holds no run.
        """
        run = super().open(path)
        with contextlib.suppress(InUseError, OSError), run.lock():  # in use, or read-only
            run.recover()
        return run

    def recover(self) -> None:
        """Puts back players that a kill caught between their old and their new folder."""
        for parent in (self.path, self.path / CHECKPOINTS, self.path / POOL):
            left = [match for file in parent.glob(".*") if (match := LEFT_OVER.match(file.name))]
            # The old folder comes first, because the saved state belongs to it.
            for match in sorted(left, key=lambda match: match["kind"], reverse=True):
                folder, place = parent / match[0], parent / match["name"]
                if not place.exists() and _is_player(folder):
                    folder.rename(place)
                else:
                    shutil.rmtree(folder, ignore_errors=True)

    def start(self, config: PpoConfig) -> Network | None:
        """Returns the network that the run starts from, read from its own copy.

        Raises:
            CheckpointError: The copy is damaged or has another shape.
        """
        if config.start is None:
            return None
        folder, kind = self.path / START, config.table_kinds()[0]
        return start_network(folder, kind, config.layout, config.network.hidden, config.part)

    def save_network(self, network: Network, config: PpoConfig, name: str) -> None:
        """Saves a network as a player that ``ohhell_agents.load`` reads."""
        player = self.player(network, config)
        if isinstance(player, TwoPartAgent):
            player.save(self.path / name, whole=False)  # the partner may be foreign code
        else:
            player.save(self.path / name)

    def player(self, network: Network, config: PpoConfig) -> Agent:
        """Returns the player that a run trains: the network, with the partner for the rest."""
        (rules, hand_size), part = config.table_kinds()[0], config.part
        checkpoint = Checkpoint(network, rules, config.layout, hand_size, part)
        learned = LearnedAgent(checkpoint, seed=0)
        if part == WHOLE:
            return learned
        if self._partner is None:  # loaded once: its files may change during the run
            self._partner = make(config.partner, config.report.seed)
        rest = next(each for each in PARTS if each != part)
        return TwoPartAgent(
            **{part: learned, rest: self._partner}, seed=0, names={rest: config.partner}
        )

    def past_self(self, decisions: int) -> Path | None:
        """Returns the newest saved player with at most this many decisions, or None."""
        saved = [int(each.name) for each in self.path.glob(f"{CHECKPOINTS}/[0-9]*")]
        newest = max((number for number in saved if number <= decisions), default=None)
        return None if newest is None else self.path / CHECKPOINTS / str(newest)

    def save_state(self, ppo: SelfPlayPPO, counters: Counters) -> None:
        """Saves everything a resumed run needs; call it only between two rollouts."""
        pool = ppo.tables.opponents.pool
        past = {} if pool is None else self._save_pool(pool, ppo.config)
        notes = {
            "pool": past,
            "counters": counters.saved(),
            "updates": ppo._n_updates,
            "random": ppo.tables.random.bit_generator.state,
            "made_with": _made_with(ppo.config),
        }
        text = json.dumps(notes, default=lambda array: array.tolist())
        arrays = {name: tensor.detach().numpy() for name, tensor in tensors_of(ppo).items()}
        write_arrays(self.path / STATE, arrays, text)
        for folder in self.path.glob(f"{POOL}/[0-9]*"):
            if folder.name not in past:  # only now does no saved state name it
                shutil.rmtree(folder, ignore_errors=True)

    def _save_pool(self, pool: Pool, config: PpoConfig) -> dict[str, str]:
        """Saves new past selves; returns the digest of every past self, by folder name."""
        digests: dict[str, str] = {}
        for decisions, network in zip(pool.decisions, pool.networks, strict=True):
            folder, digest = self.path / POOL / str(decisions), weights_digest(network)
            digests[folder.name] = digest
            if not _is_player(folder, digest):
                self.save_network(network, config, f"{POOL}/{folder.name}")
        return digests

    def _restore_pool(
        self, pool: Pool, past: Mapping[str, str], beaten: torch.Tensor, config: PpoConfig
    ) -> None:
        networks: list[Network] = []
        for name, digest in past.items():
            folder = self.path / POOL / name
            if not _is_player(folder, digest):
                raise self._broken_state(f"{folder} is not the past self that it names")
            networks.append(checkpoint_in(folder, config.part).network)
        pool.restore(networks, [int(name) for name in past], beaten.numpy())

    def counters(self) -> Counters:
        """Returns the progress at the last save.

        Raises:
            CheckpointError: The state is damaged.
        """
        if not (self.path / STATE).exists():
            return Counters()
        counters = self._read_state()[1]["counters"]
        if not isinstance(counters, dict) or counters.keys() != Counters().saved().keys():
            raise self._broken_state("its counters are not those of this version")
        return Counters.of(counters)

    def restore_state(self, ppo: SelfPlayPPO) -> None:
        """Restores a new learner from the saved state, if there is one.

        Raises:
            CheckpointError: The state is damaged, or belongs to other settings.
        """
        if not (self.path / STATE).exists():
            return
        tensors, notes = self._read_state()
        self.check_unchanged(notes["made_with"], _made_with(ppo.config), f"{STATE} was saved")
        try:
            put_back(ppo, tensors, notes)
            if ppo.tables.opponents.pool is not None:
                beaten = tensors["pool.beaten"]
                self._restore_pool(ppo.tables.opponents.pool, notes["pool"], beaten, ppo.config)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise self._broken_state(f"it does not fit {CONFIG}: {error}") from None

    def _read_state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        arrays, text = read_arrays(self.path / STATE, "start the run again")
        return {name: torch.from_numpy(array) for name, array in arrays.items()}, json.loads(text)

    def _broken_state(self, why: str) -> CheckpointError:
        return CheckpointError(f"{self.path / STATE}: is damaged ({why}); start the run again")


def _made_with(config: PpoConfig) -> dict[str, Any]:
    """Returns the settings that must not change for a saved state to be used."""
    names = {"rules", "players", "hand_size", "layout", "tables", "opponents", "network"}
    names |= {"pool", "part", "partner", "start", "seed"}
    return config.resolved().model_dump(mode="json", include=names)


def _is_player(folder: Path, digest: str | None = None) -> bool:
    """Returns whether a folder holds a player with a network, and with these weights if given."""
    for learn in (WHOLE, *PARTS):
        with contextlib.suppress(OhHellError):
            network = checkpoint_in(folder, learn).network
            if digest is None or weights_digest(network) == digest:
                return True
    return False
