"""Every file in ``configs/rules`` can be read, and says what its name promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ohhell_env.cards import Pack
from ohhell_env.rules import Rules, as_rules
from ohhell_env.rules.axes import NilScore
from ohhell_env.rules.checks import MAX_PLAYERS, MIN_PLAYERS
from ohhell_env.rules.explain import explain
from ohhell_env.rules.schedule import TrumpSource, deal_plans, hand_sizes, num_deals, points
from ohhell_env.rules.variants import VARIANTS

FOLDER = Path(__file__).parents[2] / "configs/rules"
FILES = sorted(FOLDER.glob("*.yaml"))
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def _sources(rules: Rules) -> list[TrumpSource]:
    return [one.trump for one in deal_plans(rules)]


def _made_nils(rules: Rules) -> list[int]:
    """Points of a made nil for 1, 5 and 7 cards."""
    return [points(rules.scoring, 0, 0, size) for size in (1, 5, 7)]


def _up_to(high: int) -> list[int]:
    return list(range(1, high + 1))


def _down_from(high: int) -> list[int]:
    return list(range(high, 0, -1))


def all_axes(rules: Rules) -> None:
    assert rules == Rules()


def blackout_most_bids(rules: Rules) -> None:
    assert (rules.players, rules.tie_break) == (6, "most_exact_bids")
    assert list(hand_sizes(rules)) == _down_from(8) + _up_to(8)[1:]
    assert points(rules.scoring, 3, 4, 8) == 0


def british_simultaneous(rules: Rules) -> None:
    assert (rules.bidding.order, rules.bidding.hook) == ("simultaneous", "none")
    assert list(hand_sizes(rules)) == _up_to(13)
    assert [points(rules.scoring, 4, won, 8) for won in (3, 4, 5)] == [0, 10, 0]


def custom_table(rules: Rules) -> None:
    assert list(hand_sizes(rules)) == [1, 2, 3, 2, 1]
    assert [points(rules.scoring, bid, bid, 3) for bid in range(4)] == [5, 12, 16, 22]
    assert [points(rules.scoring, bid, 1, 2) for bid in range(3)] == [-2, 12, -8]


def kachuful_with_no_trumps(rules: Rules) -> None:
    assert rules.trump.rotation == ("S", "D", "C", "H", "NT")
    assert set(_sources(rules)) == {TrumpSource.ROTATION}
    assert num_deals(rules) == 10


def la_podrida(rules: Rules) -> None:
    assert rules == Rules.preset("la_podrida", 4)
    assert rules.play.void == "must_trump"
    assert _sources(rules)[-1] == TrumpSource.NO_TRUMP


def late_trumps(rules: Rules) -> None:
    assert rules.trump.revealed == "after_bidding"
    assert rules.play.trump_lead == "after_broken"
    assert num_deals(rules) == 19


def nomination_whist_stakes(rules: Rules) -> None:
    assert (rules.settlement.kind, rules.first_dealer) == ("differences", "first_jack")
    assert list(hand_sizes(rules)) == _down_from(7) + _up_to(7)[1:]


def oh_hell_nil_5_plus_hand(rules: Rules) -> None:
    assert _made_nils(rules) == [6, 10, 12]
    assert points(rules.scoring, 0, 2, 7) == 2


def oh_pshaw_17_deals(rules: Rules) -> None:
    assert list(hand_sizes(rules)) == _up_to(17)
    assert _sources(rules)[-1] == TrumpSource.TURNED_CARD


def oh_pshaw_common(rules: Rules) -> None:
    assert [points(rules.scoring, 3, won, 5) for won in (2, 3, 4)] == [2, 13, 4]
    assert rules.bidding.announce


def oh_pshaw_hard_score(rules: Rules) -> None:
    assert (rules.hard_score_bonus, rules.settlement.kind) == (10, "differences")
    assert points(rules.scoring, 3, 4, 5) == 0


def oh_pshaw_nil_10(rules: Rules) -> None:
    plain = Rules.preset("oh_pshaw", 4)
    assert rules != plain
    assert _made_nils(rules) == _made_nils(plain) == [10, 10, 10]


def oh_pshaw_nil_5(rules: Rules) -> None:
    assert _made_nils(rules) == [5, 5, 5]
    assert points(rules.scoring, 0, 2, 7) == 0


def oh_pshaw_nil_5_plus_hand(rules: Rules) -> None:
    assert _made_nils(rules) == [6, 10, 12]
    assert rules.scoring.nil_made == NilScore(5, 1)


def oh_well_pool(rules: Rules) -> None:
    assert (rules.settlement.kind, rules.settlement.ante) == ("pool", 5.0)
    assert (hand_sizes(rules), rules.end.target, num_deals(rules)) == ((13,), 100, 31)


def oh_well_rate(rules: Rules) -> None:
    assert (rules.settlement.kind, rules.settlement.rate) == ("differences", 0.1)
    assert (hand_sizes(rules), rules.end.target, num_deals(rules)) == ((10,), 150, 75)


def rikiki_blind(rules: Rules) -> None:
    blind = [one for one in deal_plans(rules) if one.blind]
    assert len(blind) == 8
    assert {one.hand_size for one in blind} == {1}
    assert _sources(rules).count(TrumpSource.RANDOM_SUIT) == 8


def spruce_down_up(rules: Rules) -> None:
    assert list(hand_sizes(rules)) == _down_from(8) + _up_to(8)[1:]
    assert [deal for deal, trump in enumerate(_sources(rules), 1) if not trump] == [1, 15]


def spruce_hook(rules: Rules) -> None:
    assert rules.bidding.hook == "last_bidder"
    assert rules.replace(**{"bidding.hook": "none"}) == Rules.preset("spruce", 4)


def spruce_losing_bid_scores(rules: Rules) -> None:
    assert points(rules.scoring, 3, 4, 7) == 4
    assert _made_nils(rules) == [6, 10, 12]
    assert points(rules.scoring, 4, 4, 7) == 14


def spruce_reversed(rules: Rules) -> None:
    assert list(hand_sizes(rules)) == _down_from(13)
    assert [deal for deal, trump in enumerate(_sources(rules), 1) if not trump] == [1]


def spruce_simultaneous(rules: Rules) -> None:
    assert rules.bidding.order == "simultaneous"
    assert list(hand_sizes(rules)) == _up_to(15)


def spruce_up_down(rules: Rules) -> None:
    assert list(hand_sizes(rules)) == _up_to(10) + _down_from(9)
    assert [deal for deal, trump in enumerate(_sources(rules), 1) if not trump] == [10]


def tiny_pack(rules: Rules) -> None:
    assert rules.pack == Pack(("H", "S"), ("Q", "K", "A"))
    assert (rules.players, hand_sizes(rules)) == (2, (2, 1))
    assert set(_sources(rules)) == {TrumpSource.TURNED_CARD}


def up_and_down_8_players_plateau(rules: Rules) -> None:
    assert list(hand_sizes(rules)) == [6] * 5 + _down_from(5) + _up_to(5)[1:] + [6] * 5
    assert num_deals(rules) == 19


CHECKS: dict[str, Callable[[Rules], None]] = {
    check.__name__: check
    for check in (
        all_axes,
        blackout_most_bids,
        british_simultaneous,
        custom_table,
        kachuful_with_no_trumps,
        la_podrida,
        late_trumps,
        nomination_whist_stakes,
        oh_hell_nil_5_plus_hand,
        oh_pshaw_17_deals,
        oh_pshaw_common,
        oh_pshaw_hard_score,
        oh_pshaw_nil_10,
        oh_pshaw_nil_5,
        oh_pshaw_nil_5_plus_hand,
        oh_well_pool,
        oh_well_rate,
        rikiki_blind,
        spruce_down_up,
        spruce_hook,
        spruce_losing_bid_scores,
        spruce_reversed,
        spruce_simultaneous,
        spruce_up_down,
        tiny_pack,
        up_and_down_8_players_plateau,
    )
}


def test_every_file_has_a_check_of_its_own() -> None:
    assert set(CHECKS) == {path.stem for path in FILES}


@every_file
def test_says_what_its_name_promises(path: Path) -> None:
    CHECKS[path.stem](Rules.from_yaml(path))


@every_file
def test_round_trip(path: Path, tmp_path: Path) -> None:
    rules = as_rules(path)
    copy = tmp_path / "copy.yaml"
    copy.write_text(rules.to_yaml(), encoding="utf-8")
    for again in (Rules.from_yaml(copy), Rules.from_dict(rules.to_dict())):
        assert again == rules
        assert again.name == rules.name


@every_file
def test_is_named_after_its_variant_and_commented(path: Path) -> None:
    rules = as_rules(path)
    assert path.read_text(encoding="utf-8").startswith("# ")
    if rules.name != "custom":
        assert rules.name in VARIANTS
        assert f"Variant: {rules.name}." in explain(rules)


def test_all_axes_writes_out_every_setting() -> None:
    text = (FOLDER / "all_axes.yaml").read_text(encoding="utf-8")

    def keys(settings: dict[str, object]) -> set[str]:
        nested = [keys(value) for value in settings.values() if isinstance(value, dict)]
        return set(settings).union(*nested)

    for key in keys(Rules().to_dict()):
        assert f"{key}:" in text, key


@pytest.mark.parametrize("players", range(MIN_PLAYERS, MAX_PLAYERS + 1))
@pytest.mark.parametrize("path", [p for p in FILES if "spruce" in p.stem], ids=lambda p: p.stem)
def test_the_largest_hand_of_the_thesprucecrafts_game_has_no_trumps(
    path: Path, players: int
) -> None:
    """It leaves the fewest cards; in a schedule that only rises it is the last one."""
    rules = as_rules(path, players)
    sizes = hand_sizes(rules)
    assert max(sizes) == {2: 15, 3: 15, 4: 13, 5: 10, 6: 8, 7: 7, 8: 6}[players]
    without = [size for size, trump in zip(sizes, _sources(rules), strict=True) if not trump]
    assert without == [max(sizes)] * sizes.count(max(sizes))
