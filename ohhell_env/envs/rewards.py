"""The reward settings that every environment shares.

======================  =======================================================================
"points"                what the rules give, at the end of each deal
"relative"              own points minus the mean of the others', at the end of each deal; sums to 0
"win"                   share of the win, at the end of a game
"settlement"            what is paid, at the end of a game; sums to 0
======================  =======================================================================
"""

# Reads what users hand over: types are checked here, not believed.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from ohhell_env.engine.layout import REWARDS
from ohhell_env.errors import RulesError, nearest, shown
from ohhell_env.game import Game
from ohhell_env.rules import Rules


def check_reward(reward: str, episode: str, rules: Rules) -> int:
    """Returns the engine's number of a reward setting.

    Raises:
        RulesError: Unknown reward, or one that the episode or the rules never pay.
    """
    if not isinstance(reward, str) or reward not in REWARDS:
        raise RulesError(f"reward {shown(reward)}: {nearest(reward, REWARDS)}")
    if reward in ("win", "settlement") and episode == "deal":
        raise RulesError(
            f"reward={reward!r} is paid at the end of a game, so it clashes with episode='deal'; "
            "use reward='points' or 'relative', or episode='game'"
        )
    if reward == "settlement" and rules.settlement.kind == "none":
        raise RulesError(
            "reward='settlement', but these rules settle nothing; use "
            "rules.replace(settlement='differences') or 'pool'"
        )
    return REWARDS.index(reward)


def worst_honest(game: Game, reward: str) -> float:
    """Returns the least that an honest seat could get now: what an offender gets.

    ============  ==============================================================================
    "points"      the lowest points in the table for this hand size
    "relative"    the lowest points less the highest
    "win"         0, no share of the win
    "settlement"  what it would pay if the game ended with this deal, it being last before the
                  deal and getting the lowest points, everybody else the highest
    ============  ==============================================================================

    Args:
        game: The table; its seat to act is the offender.
        reward: The reward setting.
    """
    if reward == "win":
        return 0.0
    size = game.hand_size
    table = game.compiled["points"][0, size, : size + 1, : size + 1]
    lowest, highest = int(table.min()), int(table.max())
    if reward == "points":
        return float(lowest)
    if reward == "relative":
        return float(lowest - highest)
    ended = game.copy()
    scores = ended.state["scores"][0]
    last = min(game.scores)
    scores += highest
    scores[game.seat] = last + lowest
    return ended.settlement()[game.seat]
