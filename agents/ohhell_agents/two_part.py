"""``parts:``: a player of two parts, one that bids and one that plays the cards.

Each part is a player of its own, and is asked only for its own decisions. A saved pair is one
folder with both parts, each as it saves itself, so you can move the folder and need nothing else::

    two/agent.json     the parts' identities
    two/bids  cards    each a checkpoint's folder, or the file of a saved player
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.base import Actions, Agent, Bytes, RandomBits, split_observation
from ohhell_agents.checkpoint_io import (
    BIDS,
    CARDS,
    METADATA,
    AgentPath,
    as_path,
    is_there,
    kind_of,
    plain_state,
    read_metadata,
    replacing,
    restore,
    write_metadata,
)
from ohhell_agents.explanation import Explanation, explain_values
from ohhell_agents.loading import load_part
from ohhell_env.actions import BID_BASE
from ohhell_env.errors import CheckpointError, IllegalActionError, OhHellError, shown
from ohhell_env.observation import Layout, layout_of
from ohhell_env.rules import Rules, RulesLike

PREFIX = "parts:"
PARTS = (BIDS, CARDS)
_NEXT = re.compile(r"(bids|cards)=")
_LONGEST = 1000  # characters of a name read from a file
_DOES = {BIDS: "bids", CARDS: "plays the cards"}
_USAGE = (
    f"write {PREFIX}bids=PLAYER,cards=PLAYER, with each part once; put a name that contains "
    f"',bids=' or ',cards=' in square brackets: {PREFIX}bids=heuristic,"
    "cards=[search:worlds=20,bids=policy]"
)


def read_parts(text: str) -> dict[str, str]:
    """Returns the names of both parts in the text after ``parts:``.

    A name ends where ``,bids=`` or ``,cards=`` begins the other part, so it may contain commas and
    equal signs. A name that contains one of these itself is in square brackets.

    >>> read_parts("bids=search:worlds=20,inference=false,cards=zoo:universal")
    {'bids': 'search:worlds=20,inference=false', 'cards': 'zoo:universal'}
    >>> read_parts("cards=[search:worlds=20,bids=policy],bids=heuristic")
    {'cards': 'search:worlds=20,bids=policy', 'bids': 'heuristic'}

    Args:
        text: For example ``bids=heuristic,cards=zoo:universal``.

    Raises:
        OhHellError: A part is missing, given twice or empty, or brackets do not match.
    """
    found: dict[str, str] = {}
    place = 0
    while place <= len(text) and len(found) < 3:
        begins = _NEXT.match(text, place)
        if begins is None:
            raise _misread(text, f"expected a part at {shown(text[place:])}")
        part = begins[1]
        end = _end_of(text, begins.end())
        name = text[begins.end() : end]
        if name.startswith("["):
            name = name[1:-1]
        if part in found:
            raise _misread(text, f"{part}= is given twice")
        if not name:
            raise _misread(text, f"{part}= names no player")
        found[part] = name
        place = end + 1
    missing = [part for part in PARTS if part not in found]
    if missing:
        raise _misread(text, f"{missing[0]}= is missing")
    return found


def _end_of(text: str, start: int) -> int:
    """Returns the end of the name that begins at ``start``: a comma, or the end of the text."""
    if not text.startswith("[", start):
        following = re.compile(f",{_NEXT.pattern}").search(text, start)
        return len(text) if following is None else following.start()
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "[") - (text[place] == "]")
        if depth == 0:
            if text[place + 1 : place + 2] not in ("", ","):
                raise _misread(text, f"expected a comma at {shown(text[place + 1 :])}")
            return place + 1
    raise _misread(text, "a square bracket is not closed")


def _misread(text: str, why: str) -> OhHellError:
    return OhHellError(f"player {shown(PREFIX + text)}: {why}; {_USAGE}")


class TwoPartAgent(Agent):
    """Asks one player for its bids and another for its cards.

    Args:
        bids: The player that bids. If it has two parts, its bidding part is taken.
        cards: The player that plays the cards. If it has two parts, its card-playing part is taken.
        seed: As for every agent. The parts get their random numbers from here.
        names: Names of the parts in descriptions, by "bids" and "cards": the names that they were
            made by. None: they have no names.
    """

    kind: ClassVar[str] = "two_parts"

    def __init__(
        self,
        bids: Agent,
        cards: Agent,
        seed: int | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(seed)
        self.bids = bids.bids if isinstance(bids, TwoPartAgent) else bids
        self.cards = cards.cards if isinstance(cards, TwoPartAgent) else cards
        self.names = {part: (names or {}).get(part, "") for part in PARTS}

    @property
    def parts(self) -> dict[str, Agent]:
        """The player of each part, by "bids" and "cards"."""
        return {BIDS: self.bids, CARDS: self.cards}

    def _some(self, what: str) -> bool:
        return any(getattr(part, what, False) is True for part in self.parts.values())

    @property
    def layout_name(self) -> str:
        """Layout of its observations: "universal" if one of its parts reads that.

        A part that reads the default layout gets that one, extracted from the universal one.
        """
        names = {part.layout_name for part in self.parts.values()}
        return "universal" if "universal" in names else "default"

    @property
    def one_by_one(self) -> bool:
        """Whether one of its parts is asked one question at a time."""
        return self._some("one_by_one")

    @property
    def needs_seat(self) -> bool:
        """Whether one of its parts must know its seat."""
        return self._some("needs_seat")

    @property
    def depends_on_clock(self) -> bool:
        """Whether decisions of one of its parts depend on the speed of the machine."""
        return self._some("depends_on_clock")

    @property
    def fingerprint(self) -> str:
        """Kind and fingerprint of both parts."""
        return " + ".join(f"{part} {_identity(each)}" for part, each in self.parts.items())

    def begin(self, rules: RulesLike, seat: int | None = None) -> None:
        """Takes a seat at a table with both parts; see ``Agent.begin``."""
        super().begin(rules, seat)
        for part in self.parts.values():
            part.begin(rules, seat)

    def close(self) -> None:
        """Closes both parts, the second one even if the first raises."""
        with contextlib.ExitStack() as both:
            for part in reversed(self.parts.values()):
                both.callback(part.close)

    def choose(
        self,
        observations: Bytes,
        action_masks: Bytes,
        random_bits: RandomBits,
        deterministic: bool,
        /,
    ) -> Actions:
        """Returns the action codes (B,); see ``Agent.choose``.

        Raises:
            IllegalActionError: A part's answer is not an array of whole numbers.
        """
        bidding = np.asarray(action_masks[:, BID_BASE:].any(axis=1))
        actions = np.empty(len(action_masks), np.int64)
        for name, mine in ((BIDS, bidding), (CARDS, ~bidding)):
            rows = np.flatnonzero(mine)
            if not len(rows):
                continue
            part = self.parts[name]
            # Matrix products can depend on their number of rows. To make an answer depend only on
            # its own row, ask networks as many questions as the batch has.
            apart = part.one_by_one or part.engine_player is not None
            asked = rows if apart else np.resize(rows, len(mine))
            views, masks = self._shown(part, observations[asked], action_masks[asked])
            answers = np.asarray(part.act_batch(views, masks, deterministic, random_bits[asked]))
            if answers.dtype.kind not in "iu" or answers.shape != asked.shape:
                raise IllegalActionError(
                    f"the part that {_DOES[name]} ({part.kind}) answered {answers.dtype} of shape "
                    f"{answers.shape}; expected {len(asked)} whole numbers"
                )
            actions[rows] = answers[: len(rows)]
        return actions

    def _shown(self, part: Agent, views: Bytes, masks: Bytes) -> tuple[Bytes, Bytes]:
        """Returns views and masks in the layout that a part reads."""
        if part.layout_name == self.layout_name or self.rules is None:
            return views, masks
        universal = layout_of(self.rules, "universal")
        if views.shape[1] != universal.length:  # the part itself reports what is wrong
            return views, masks
        wanted = _default_of(part, self.rules, views[:, universal.slices()["hand_size"]])
        legal = np.zeros((len(masks), wanted.num_actions), np.int8)
        shared = min(masks.shape[1], wanted.num_actions)
        legal[:, :shared] = masks[:, :shared]
        return views[:, _places(universal, wanted)], legal

    @property
    def explain(self) -> Callable[..., Explanation]:
        """``explain(observation, info=None, random_bits=None)``: that of the part that decides.

        The notes name a part that cannot. If neither can, there is no ``explain``.
        """
        if not any(callable(getattr(part, "explain", None)) for part in self.parts.values()):
            raise AttributeError("neither part can say what it thinks")
        return self._explain

    def _explain(
        self,
        observation: Any,
        info: Mapping[str, Any] | None = None,
        random_bits: int | None = None,
    ) -> Explanation:
        vector, mask = split_observation(observation, info)
        name = BIDS if mask[BID_BASE:].any() else CARDS
        part = self.parts[name]
        if random_bits is None:
            random_bits = int(self._random.integers(2**64, dtype=np.uint64))
        explain: Any = getattr(part, "explain", None)
        if explain is not None:
            views, masks = self._shown(part, vector[np.newaxis], mask[np.newaxis])
            return explain(
                {"observation": views[0], "action_mask": masks[0]}, random_bits=random_bits
            )
        drawn = np.array([random_bits], np.uint64)
        chosen = int(self.act_batch(vector[np.newaxis], mask[np.newaxis], random_bits=drawn)[0])
        if self.rules is None:
            raise IllegalActionError(
                "a player of two parts must know the rules to explain itself: call begin(rules, "
                "seat) before explain()"
            )
        legal = np.flatnonzero(mask).tolist()
        plain = explain_values({}, self.rules, legal, chosen, ends={}, calibrated=False)
        note = f"{self.names[name] or part.kind} {_DOES[name]}, and cannot say what it thinks"
        return dataclasses.replace(plain, method="none", notes=(note,))

    def save(self, path: AgentPath, whole: bool = True) -> None:
        """Writes the player as a folder, completely or not at all; replaces an older one.

        Args:
            path: The folder.
            whole: Whether both parts must be kept. A part that is code of its own cannot be kept,
                because loading runs no code. False: only the name of such a part is kept, and
                ``load`` explains how to put the player together again.

        Raises:
            OhHellError: A part cannot be kept.
            CheckpointError: The path exists and is not a checkpoint.
        """
        with replacing(path) as folder:
            about: dict[str, Any] = {"random": plain_state(self._random), "parts": {}}
            for name, part in self.parts.items():
                kept = _keep(part, folder / name)
                if whole and not kept:
                    raise OhHellError(
                        f"cannot save a player of two parts to {path}: the part that "
                        f"{_DOES[name]} ({part.kind}) is code of its own, which loading does not "
                        "run; make the player again by its name"
                    )
                about["parts"][name] = {
                    "kind": part.kind,
                    "name": self.names[name],
                    "fingerprint": _identity(part),
                    "kept": kept,
                }
            write_metadata(folder, self.kind, about)

    @classmethod
    def load(cls, path: AgentPath, seed: int | None = None) -> Self:
        """Returns the player of a folder; no code in its files runs.

        Args:
            path: The folder.
            seed: Starts new random numbers; None: the saved ones continue.

        Raises:
            CheckpointError: The folder has no such player, or one that is broken, of another
                version, or without one of its parts.
        """
        path = as_path(path)
        card = read_metadata(path)
        if kind_of(card) != cls.kind:
            raise CheckpointError(
                f"{path / METADATA}: contains a player of kind {shown(kind_of(card))}; expected "
                f"{cls.kind!r}"
            )
        about = card.get("parts")
        if not isinstance(about, dict) or not all(isinstance(about.get(p), dict) for p in PARTS):
            raise CheckpointError(
                f"{path / METADATA}: does not name the players that bid and play the cards"
            )
        names = {name: _name_in(about[name]) for name in PARTS}
        bids, cards = (_part_in(path, name, about[name], names, seed) for name in PARTS)
        agent = cls(bids, cards, seed, names)
        if seed is None:
            restore(agent._random, card.get("random"), path / METADATA)
        return agent


def _identity(part: Agent) -> str:
    return f"{part.kind}:{part.fingerprint}"


def _keep(part: Agent, place: Path) -> bool:
    """Saves a part, and returns whether it loads as the same player."""
    try:
        part.save(place)
        found = load_part(place)
    except OSError:  # a full disk is not the part's fault
        raise
    except Exception:  # whatever a user's ``save`` raises
        found = None
    if type(found) is type(part) and found is not None and _identity(found) == _identity(part):
        return True
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    return False


def _name_in(about: Mapping[str, Any]) -> str:
    """Returns a part's name from the metadata, if it is fit to be shown."""
    name = about.get("name")
    is_name = isinstance(name, str) and len(name) <= _LONGEST and name.isprintable()
    return str(name) if is_name else ""


def _part_in(
    path: Path, name: str, about: Mapping[str, Any], names: Mapping[str, str], seed: int | None
) -> Agent:
    """Returns one part of a saved player."""
    place = path / name
    if about.get("kept") is False and not is_there(place):
        raise CheckpointError(_put_together(path, name, about, names))
    if place.is_dir() and kind_of(read_metadata(place)) == TwoPartAgent.kind:
        raise CheckpointError(f"{place}: a part cannot have parts of its own")  # or link to itself
    part = load_part(place, seed)
    if _identity(part) != about.get("fingerprint"):
        raise CheckpointError(
            f"{place}: contains another player ({shown(_identity(part))}) than {path} was saved "
            f"with ({shown(about.get('fingerprint'))}); restore that player, or save the "
            "pair again"
        )
    return part


def _put_together(path: Path, name: str, about: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Returns the remedy for a part that no checkpoint can contain."""
    called = names[name] or str(about.get("kind"))
    specs = [f"{p}={names[p] or 'PLAYER' if p == name else path / p}" for p in PARTS]
    return (
        f"{path}: {shown(called)} {_DOES[name]} and is code of its own, which loading a "
        f"checkpoint does not run; if you trust it: "
        f"ohhell_agents.make({PREFIX + ','.join(specs)!r})"
    )


def _default_of(part: Agent, rules: Rules, sizes: Bytes) -> Layout:
    """Returns the default layout that a part reads, with room for the given hand sizes."""
    checkpoint: Any = getattr(part, "checkpoint", None)
    hand_size = int(sizes.max()) if checkpoint is None else checkpoint.hand_size
    return layout_of(rules, "default", hand_size)


@functools.lru_cache(maxsize=64)
def _places(universal: Layout, wanted: Layout) -> NDArray[np.int64]:
    """Returns the place in the universal layout of each value of a default layout."""
    rows = {"played": wanted.seats, "voids": wanted.seats}
    there = universal.slices()
    places: list[NDArray[np.int64]] = []
    for section, _, length in wanted.sections:
        where = np.arange(there[section].start, there[section].stop)
        if section in rows:  # a row for each seat, with room for every card or suit
            where = where.reshape(universal.seats, -1)[: wanted.seats, : length // wanted.seats]
        elif section == "trump":  # the last place is no-trump
            where = where[[*range(length - 1), -1]]
        else:
            where = where[:length]
        places.append(where.ravel())
    return np.concatenate(places)
