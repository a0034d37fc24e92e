"""Players that break at mixed tables of whole games, and what players see there."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ohhell_agents import HeuristicAgent
from ohhell_env import oh_hell_v0
from ohhell_env.cards import parse_card
from ohhell_env.engine.layout import BID_BASE
from ohhell_env.errors import OhHellError
from ohhell_env.rules import Rules
from ohhell_train.tournament import Results, run_tournament
from ohhell_train.tournament import entrants as entrants_module
from ohhell_train.tournament.tables import replay_table
from tests.agents.test_process import GOOD, command
from tests.helpers import house, unix_only
from tests.train.players import AskedHeuristic, Lowest, OnlyAct, Raises

RULES = house(3, 2, 1, settlement="differences", bidding__hook="none")
SEED, BLOCKS = 4, 12


def played(player: Any, design: str = "mixed", name: str = "broken") -> Results:
    others: list[Any] = ["random", "heuristic", ("low", Lowest()), ("one", OnlyAct())]
    entrants = [(name, player), *others]
    settings: dict[str, Any] = {"design": design, "episode": "game", "unit": 4}
    return run_tournament(entrants, rules=RULES, deals=BLOCKS, seed=SEED, **settings)


# ------------------------------------------------------------------- players that break


class Odd:
    """Answers what a function makes of the action masks."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer

    def act_batch(self, observations: Any, action_masks: Any) -> Any:
        return self.answer(action_masks)


class UnreadableError(Exception):
    """Cannot be put into words."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class UnreadableBase(BaseException):
    """Is no ``Exception``, and raises another one when it is put into words."""

    def __str__(self) -> str:
        raise asyncio.CancelledError


class OddWords(str):
    """A message that cannot be put into another one."""

    def __format__(self, _: str) -> str:
        raise SystemExit(3)


class OddlyToldError(Exception):
    """Its message is no plain text."""

    def __str__(self) -> str:
        return OddWords("odd")


class Nameless(type):
    """Classes that do not say what they are called."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise ZeroDivisionError("no name")


class NamelessError(Exception, metaclass=Nameless):
    """Its class raises when it is asked for its name."""


class NoArray:
    """Breaks where NumPy looks at it."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError("no array")


def raises(error: BaseException) -> Callable[[Any], Any]:
    def answer(masks: Any) -> Any:
        raise error

    return answer


def rewrites_and_cheats(masks: Any) -> Any:
    """Makes every action legal in its own copy, and takes the first that was not."""
    chosen = (masks == 0).argmax(axis=1)
    masks[:] = 1
    return chosen


BROKEN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "raises": (raises(ValueError("never")), "ValueError: never"),
    "two lines": (raises(ValueError("a\nb")), "ValueError: a\nb"),
    "unreadable": (raises(UnreadableError()), "UnreadableError: (its message cannot be read)"),
    "exits": (raises(SystemExit(3)), "SystemExit: 3"),
    "cancelled": (raises(asyncio.CancelledError("task")), "CancelledError: task"),
    "generator": (raises(GeneratorExit()), "GeneratorExit: "),
    "base": (raises(BaseException("all")), "BaseException: all"),
    "group": (raises(BaseExceptionGroup("g", [SystemExit(1)])), "BaseExceptionGroup: g"),
    "unreadable base": (raises(UnreadableBase()), "UnreadableBase: (its message cannot be read)"),
    "oddly told": (raises(OddlyToldError()), "OddlyToldError: odd"),
    "nameless": (raises(NamelessError("all")), "NamelessError: all"),
    "stop": (raises(StopIteration(1)), "StopIteration: 1"),
    "endless": (raises(RecursionError("deep")), "RecursionError: deep"),
    "illegal": (lambda masks: (masks == 0).argmax(axis=1), "which is not legal"),
    "negative": (lambda masks: np.full(len(masks), -1), "answered -1, which is not legal"),
    "too high": (lambda masks: np.full(len(masks), 10**6), "answered 1000000, which is not legal"),
    "huge": (lambda masks: [10**30] * len(masks), "answered object"),
    "unsigned": (lambda masks: np.full(len(masks), 2**64 - 1, np.uint64), "which is not legal"),
    "nan": (lambda masks: np.full(len(masks), np.nan), "answered float64"),
    "floats": (lambda masks: masks.argmax(axis=1) * 1.0, "answered float64"),
    "truth": (lambda masks: np.ones(len(masks), bool), "answered bool"),
    "too many": (lambda masks: np.zeros(len(masks) + 1, int), "of shape"),
    "a column": (lambda masks: masks.argmax(axis=1)[:, None], "of shape"),
    "a number": (lambda masks: 3, "of shape ()"),
    "nothing": (lambda masks: None, "answered object"),
    "words": (lambda masks: ["2C"] * len(masks), "answered <U2"),
    "no array": (lambda masks: NoArray(), "ValueError: no array"),
    "rewrites": (rewrites_and_cheats, "which is not legal"),
}


@pytest.fixture(scope="module")
def honest() -> Results:
    """The same tournament with a player that does what it should, of the same name."""
    return played(Lowest())


def check_broken(results: Results, honest: Results, what: str) -> None:
    """The broken player is named and counted; tables without it are as they were."""
    data, broken = json.loads(json.dumps(results.to_dict())), results.entrants[0]
    assert broken.faults == broken.decisions > 0
    assert what in broken.first_fault
    assert data["entrants"]["broken"]["faults"] == broken.faults
    assert results.timings()["entrants"]["broken"]["first_fault"] == broken.first_fault
    assert any(w.startswith("broken") and "faults" in w for w in data["warnings"])
    others = [row for name, row in data["entrants"].items() if name != "broken"]
    assert all((row["faults"], row["disqualified"]) == (0, False) for row in others)
    there, here = honest.outcomes[-1, -1], results.outcomes[-1, -1]
    assert (there["lineup"] == here["lineup"]).all()
    without = ~(here["lineup"] == 0).any(axis=1)
    assert 0 < without.sum() < BLOCKS
    assert (there[without] == here[without]).all()


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_player_is_counted_and_the_rest_plays_on(kind: str, honest: Results) -> None:
    answer, what = BROKEN[kind]
    check_broken(played(Odd(answer)), honest, what)


def test_a_broken_player_changes_no_pair_without_it() -> None:
    with_it = played(Raises(), "field").to_dict()["pairs"]
    entrants: list[Any] = ["random", "heuristic", ("low", Lowest()), ("one", OnlyAct())]
    without = run_tournament(entrants, rules=RULES, deals=BLOCKS, seed=SEED, episode="game", unit=4)
    for pair, row in without.to_dict()["pairs"].items():
        assert with_it[pair] == row
    assert len(with_it) == 20


def test_where_nothing_legal_is_answered_a_random_move_is_made() -> None:
    """All its moves are replaced: it plays like the random player, but for its chance."""
    entrants = [("broken", Raises()), "random"]
    results = run_tournament(
        entrants, rules="oh_hell", deals=400, seed=SEED, hand_size=2, players=3
    )
    comparison = results.to_dict()["comparisons"][0]
    assert comparison["inside_noise"]
    assert comparison["ci95"][1] - comparison["ci95"][0] < 2.0


def test_a_player_that_writes_into_its_question_changes_nothing(honest: Results) -> None:
    def scribbles(masks: Any) -> Any:
        chosen = masks.argmax(axis=1)
        masks[:] = 0
        return chosen

    results = played(Odd(scribbles))
    assert results.entrants[0].faults == 0
    assert (results.outcomes[-1, -1] == honest.outcomes[-1, -1]).all()


def test_a_player_that_prints_is_no_fault(
    honest: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    def prints(masks: Any) -> Any:
        print("\x1b[2J thinking", flush=True)
        return masks.argmax(axis=1)

    results = played(Odd(prints))
    assert "thinking" in capsys.readouterr().out
    assert results.entrants[0].faults == 0
    assert (results.outcomes[-1, -1] == honest.outcomes[-1, -1]).all()


@unix_only
@pytest.mark.parametrize(
    ("does", "what"),
    [
        ("time.sleep(60)", "gave no answer within 100 ms"),
        ("time.sleep(0.4)\n" + GOOD, "gave no answer within 100 ms"),
        ("sys.exit(4)", "has ended with exit status 4"),
        ("os.kill(os.getpid(), 9)", "SIGKILL"),
        ("print('thinking', flush=True)", "which is not JSON"),
        ("os.close(1)\ntime.sleep(60)", "closed its standard output"),
        ("good['action'] = 10 ** 30\n" + GOOD, "which is not legal"),
        ("good['action'] = float('nan')\n" + GOOD, ""),
        ("raise ValueError('no idea')", "no idea"),
    ],
)
def test_a_program_that_breaks_at_mixed_tables(
    does: str, what: str, tmp_path: Path, honest: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entrants_module, "FAULT_LIMIT", 2)
    program = command(tmp_path, does)
    limit = 100 if "within 100 ms" in what else 2000  # late only where it is meant to be
    player = f"process:time_limit_ms={limit},start_limit_ms=10000:{program}"
    check_broken(played(player), honest, what)


# ---------------------------------------------------------------- what a player is shown


class Spy(AskedHeuristic):
    """Keeps all that it is shown."""

    def __init__(self) -> None:
        super().__init__(seed=1)
        self.seen: Counter[tuple[bytes, bytes]] = Counter()

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        for view, mask in zip(observations, action_masks, strict=True):
            self.seen[view.tobytes(), mask.tobytes()] += 1
        return super().choose(observations, action_masks, random_bits, deterministic)


def shown_by_the_env(rules: Rules, record: dict[str, Any], seed: int) -> list[Any]:
    """Plays a record in the AEC environment: (seat, view, mask) of each decision with a choice."""
    env = oh_hell_v0.env(rules=rules, episode=record["episode"])
    env.reset(seed=seed)
    shown = []
    for deal in record["deals"]:
        assert env.unwrapped.game.hands == [
            [parse_card(card, rules.pack) for card in hand] for hand in deal["hands"]
        ]
        cards = [play for trick in deal["tricks"] for play in trick]
        moves = [(seat, BID_BASE + bid) for seat, bid in deal["bids"]]
        if not deal["blind"]:
            moves += [(seat, parse_card(card, rules.pack)) for seat, card in cards]
        for seat, action in moves:
            agent = env.agent_selection
            assert agent == env.possible_agents[seat]
            view = env.observe(agent)
            mask = view["action_mask"]
            if np.count_nonzero(mask) > 1:
                shown.append((seat, view["observation"].tobytes(), mask.tobytes()))
            env.step(action)
    assert all(env.terminations.values())
    return shown


TABLES = [
    (house(3, 3, 1), "game"),
    (house(3, 4, bidding__order="simultaneous", bidding__hook="none"), "deal"),
    (house(4, 1, 2, blind_one_card="always"), "game"),
    (house(2, 5, trump__method="dealer_last_card"), "deal"),
]


@pytest.mark.parametrize("design", ["field", "mixed"])
@pytest.mark.parametrize("table", range(len(TABLES)))
def test_a_player_sees_what_the_environment_shows_its_seat(
    design: str, table: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entrants_module, "BATCH", 1)  # else short questions are filled with copies
    rules, episode = TABLES[table]
    spies = [Spy() for _ in range(rules.players)]
    entrants = [(f"spy{place}", spy) for place, spy in enumerate(spies)]
    results = run_tournament(
        entrants, rules=rules, deals=1, seed=SEED, design=design, episode=episode
    )
    wanted = [Counter[tuple[bytes, bytes]]() for _ in spies]
    seen = [spy.seen.copy() for spy in spies]
    for blocks in results.outcomes.values():
        lineup = blocks["lineup"][0].tolist()
        for rotation in range(rules.players):
            record = replay_table(results.deals, results.entrants, lineup, 0, rotation)
            for seat, view, mask in shown_by_the_env(rules, record, SEED):
                wanted[lineup[(seat - rotation) % rules.players]][view, mask] += 1
    assert seen == wanted
    assert all(sum(counter.values()) > 4 for counter in seen)


class Snoops:
    """Looks for memory behind its question."""

    def __init__(self) -> None:
        self.rows: set[int] = set()
        self.keys: set[str] = set()

    def act(self, observation: dict[str, Any]) -> int:
        self.keys |= set(observation)
        for array in observation.values():
            owner = array
            while isinstance(owner.base, np.ndarray):
                owner = owner.base
            self.rows.add(owner.size // observation["action_mask"].size)
        return int(observation["action_mask"].argmax())


def test_no_other_question_lies_behind_a_single_one() -> None:
    player = Snoops()
    results = run_tournament(
        [("snoops", player), ("low", Lowest())], rules="oh_hell", deals=2, seed=SEED
    )
    assert results.to_dict()["pairs"]["snoops|low"]["difference"] == 0.0
    layout = results.deals.layout("default")
    assert player.keys == {"observation", "action_mask"}
    assert player.rows == {1, layout.length // layout.num_actions}


def test_an_asked_player_of_another_layout_is_shown_that_layout() -> None:
    lengths = set()

    class Universal(HeuristicAgent):
        engine_player = None

        @property
        def layout_name(self) -> str:
            return "universal"

        def choose(
            self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
        ) -> Any:
            lengths.add((observations.shape[1], action_masks.shape[1]))
            return action_masks.argmax(axis=1)

    entrants = [("universal", Universal()), ("low", Lowest())]
    results = run_tournament(entrants, rules="oh_hell", deals=2, seed=SEED)
    layout = results.deals.layout("universal")
    assert lengths == {(layout.length, layout.num_actions)}
    assert results.entrants[0].faults == 0


# ------------------------------------------------------------- elsewhere than at the table


class Breaks(OnlyAct):
    """Raises wherever it is told to."""

    def __init__(self, where: str, error: BaseException) -> None:
        self.where, self.error = where, error

    def _at(self, where: str) -> None:
        if where == self.where:
            raise self.error

    def begin(self, rules: Any, seat: int | None) -> None:
        self._at("begin")

    def close(self) -> None:
        self._at("close")

    def __getattr__(self, name: str) -> Any:
        if name in ("act_batch", "layout_name", "needs_seat", "fingerprint", "one_by_one"):
            self._at(name)
        raise AttributeError(name)


ERRORS = [RuntimeError("now"), asyncio.CancelledError("now"), SystemExit("now")]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize(
    "where", ["begin", "act_batch", "layout_name", "needs_seat", "fingerprint"]
)
def test_what_breaks_before_the_first_card_is_one_line_that_names_it(
    where: str, error: BaseException
) -> None:
    with pytest.raises(OhHellError) as caught:
        run_tournament(
            [("breaks", Breaks(where, error)), "random"], rules="oh_hell", deals=2, seed=SEED
        )
    said = str(caught.value)
    assert said.startswith("entrant 'breaks' cannot ")
    assert f"{type(error).__name__}: now" in said
    assert "\n" not in said


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("where", ["import", "init", "close", "begin"])
def test_a_class_that_breaks_where_it_is_made_or_closed(
    where: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body: dict[str, str] = dict.fromkeys(("import", "init", "close", "begin"), "pass")
    kind = f"{type(error).__module__}.{type(error).__name__}"
    body[where] = f"raise {kind}('now')"
    module = f"breaks_{where}_{type(error).__name__.lower()}"
    (tmp_path / f"{module}.py").write_text(
        "import asyncio, builtins\n"
        f"{body['import']}\n"
        "class Bot:\n"
        f"    def __init__(self): {body['init']}\n"
        f"    def begin(self, rules, seat): {body['begin']}\n"
        f"    def close(self): {body['close']}\n"
        "    def act(self, observation, info): return int(observation['action_mask'].argmax())\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    entrants = [f"bot={module}:Bot", "random"]
    if where == "close":
        assert run_tournament(entrants, rules="oh_hell", deals=2, seed=SEED).entrants[0].faults == 0
        return
    with pytest.raises(OhHellError, match=f"(?i)bot.*{type(error).__name__}: now"):
        run_tournament(entrants, rules="oh_hell", deals=2, seed=SEED)


class Fickle(OnlyAct):
    """Says of itself once what it will not say again."""

    asked = 0

    @property
    def layout_name(self) -> str:
        self.asked += 1
        if self.asked > 8:
            raise asyncio.CancelledError
        return "default"


def test_a_player_is_asked_once_how_it_wants_to_be_asked() -> None:
    player = Fickle()
    results = run_tournament(
        [("fickle", player), "random"], rules="oh_hell", deals=40, seed=SEED, unit=2
    )
    assert results.entrants[0].faults == 0
    assert player.asked < 8


def test_an_unknown_layout_is_refused_at_once() -> None:
    class Wants(OnlyAct):
        layout_name = "univresal"

    with pytest.raises(OhHellError, match=r"'wants' wants the layout 'univresal'.*'universal'"):
        run_tournament([("wants", Wants()), "random"], rules="oh_hell", deals=2, seed=SEED)


@pytest.mark.parametrize(
    ("entrants", "changes"),
    [
        (["random", "x" * 5000], {}),
        (["random", ("x|" * 5000, Lowest())], {}),
        (["random", ("x" * 5000, Lowest()), ("x" * 5000, Lowest())], {}),
        (["random", ("low", "x" * 5000)], {}),
        (["random", ["x" * 5000]], {}),
        ("x" * 5000, {}),
        (["random", "heuristic"], {"anchor": "x" * 5000}),
        (["random", "heuristic"], {"challenger": "x" * 5000}),
        (["random", ("x" * 5000, Lowest())], {"anchor": "y"}),
        (["random", ("x" * 5000, Lowest())], {"challenger": "y"}),
        (["random", "heuristic"], {"design": "x" * 5000}),
        (["random", "heuristic"], {"executor": "x" * 5000}),
        (["random", "heuristic"], {"address": "x" * 5000}),
        (["random", "heuristic"], {"address": "h:" + "9" * 5000, "executor": "ray"}),
        (["random", "heuristic"], {"stop": "x" * 5000}),
        (["random", "heuristic"], {"workers": "x" * 5000}),
        (["random", "heuristic"], {"unit": "x" * 5000}),
        (["random", "heuristic"], {"episode": "game", "hand_size": "x" * 5000}),
    ],
)
def test_long_values_are_cut_in_messages(entrants: Any, changes: dict[str, Any]) -> None:
    if changes.get("executor") == "ray":
        pytest.importorskip("ray")
    with pytest.raises(OhHellError) as caught:
        run_tournament(entrants, rules="oh_hell", deals=2, seed=SEED, **changes)
    if not str(caught.value).startswith("unknown player"):  # said by ohhell_agents.make
        assert len(str(caught.value)) < 500
