"""What the corrections are fitted to: every choice of a decision, played out on the true deal.

The cards that a seat cannot see are, given all that it has seen, a fair draw from what they can be:
so what comes of an action on the true deal is an unbiased sample of what it is worth, where worlds
drawn without regard to the bids and plays are not. Compiled.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_agents.value.advantage_nets import MOST_CHOICES, price
from ohhell_agents.value.bids import weigh_bids
from ohhell_agents.value.cards import weigh_cards
from ohhell_agents.value.players import HEURISTIC, engine_action
from ohhell_env.engine import kernel
from ohhell_env.engine.bits import ONE, ZERO, has
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.kernel import trump_known
from ohhell_env.engine.layout import BID_BASE, NUM_BIDS, Phase
from ohhell_env.engine.rng import next_word
from ohhell_train.trick_model.samples import explored, happens

_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)


@entry
def _move(row, rules, action):
    kernel.apply(row, rules, action)


@entry
def played_out(row, rules, models, players, chooser, action, relative):
    """Returns what an action brings its seat if the deal is then played out, in points.

    Args:
        row: A table in the bidding or in play; it is changed.
        rules: Its rules record.
        models: ``MODELS`` rows.
        players: int8 (seats,), who plays on in each seat: a number of ``engine_players.py``.
        chooser: Record with a random stream, for random players.
        action: The first action.
        relative: Share of the mean of the others' points that is taken off.
    """
    seat = np.int64(row.seat)
    _move(row, rules, action)
    while row.phase <= _PLAY:
        word = next_word(chooser)
        _move(row, rules, engine_action(row, rules, models, players[row.seat], word))
    others = 0.0
    for other in range(rules.players):
        if other != seat:
            others += row.points[other]
    return row.points[seat] - relative * others / (rules.players - 1)


@entry
def label_all(tables, rules, models, chooser, wishes, cards, bids):
    """Plays one deal at each table; at some decisions of the learner every choice is played out.

    The learner is player ``HEURISTIC``, whose models come first; it strays now and then, the
    others do not. Stops early where there is no room for another deal's decisions.

    Args:
        tables: ``GAME`` rows (N,), each dealt, of single deals; one ``GAME`` row of scratch; int8
            (N, seats), who plays in each seat.
        rules: ``RULES`` row.
        models: ``MODELS`` rows.
        chooser: ``GAME`` rows; the stream of row 0 makes all choices.
        wishes: float64 (6,): noise, as for ``fitting.collect`` (3,); share of the bids and of the
            cards that are noted; ``relative`` of ``played_out``.
        cards: What is noted of cards, see ``corrections.new_notes``: situations float32 (D,
            CARD_SITUATION), tables uint64 (D, TABLE_WORDS), choices float32 (R, CARD_CHOICE),
            numbers int64 (R,); then worth float32 (R,) in prices, number of choices int8 (D,).
        bids: The same of bids.

    Returns:
        Numbers of decisions and of choices noted: cards, then bids.
    """
    games, scratch, players = tables
    chance, record = chooser[0], rules[0]
    at = np.zeros(4, np.int64)
    values, codes = np.empty(64), np.empty(64, np.int64)
    for index in range(len(games)):
        row, seated = games[index], players[index]
        if _is_full(cards, at[0], at[1]) or _is_full(bids, at[2], at[3]):
            break
        while row.phase <= _PLAY:
            player = seated[row.seat]
            if player == HEURISTIC and row.legal & (row.legal - ONE) != ZERO:
                bidding = row.phase == _BID
                if bidding and trump_known(row, record) and not row.blind:
                    if happens(chance, wishes[3]):
                        found = _weigh_bids(row, record, models[0], bids, at, values, codes)
                        others = scratch, models, seated, chance
                        _note_worth(row, record, others, wishes[5], bids, at, 2, found, codes)
                elif not bidding and happens(chance, wishes[4]):
                    found = _weigh_cards(row, record, models[0], cards, at, values, codes)
                    others = scratch, models, seated, chance
                    _note_worth(row, record, others, wishes[5], cards, at, 0, found, codes)
            if player == HEURISTIC:
                action = explored(row, record, models[0], chance, wishes, np.int64(0))
            else:
                action = engine_action(row, record, models, player, next_word(chance))
            _move(row, record, action)
    return at


@inline
def _is_full(notes, decisions, choices):
    room = 64  # more than the seats of a table decide in a deal
    return decisions + room > len(notes[0]) or choices + room * MOST_CHOICES > len(notes[2])


@inline
def _part(notes, decision, choice):
    """Returns where the notes of the next decision go."""
    situations, tables, choices, numbers = notes[:4]
    end = choice + MOST_CHOICES
    return situations[decision], tables[decision], choices[choice:end], numbers[choice:end]


@inline
def _weigh_cards(row, rules, models, notes, at, values, codes):
    weigh_cards(row, rules, models, values, _part(notes, at[0], at[1]), True)
    found = 0
    for card in range(64):
        if not np.isnan(values[card]):
            codes[found] = card
            found += 1
    return found


@inline
def _weigh_bids(row, rules, models, notes, at, values, codes):
    """Notes all legal bids; their rows are moved together, since all bids were weighed."""
    part = _part(notes, at[2], at[3])
    weigh_bids(row, rules, models, values[:NUM_BIDS], part, True)
    choices, numbers, found = part[2], part[3], 0
    for bid in range(row.hand_size + 1):
        if has(row.legal, bid):
            choices[found] = choices[bid]
            numbers[found] = bid
            codes[found] = BID_BASE + bid
            found += 1
    return found


@inline
def _note_worth(row, rules, others, relative, notes, at, first, found, codes):
    """Notes what each choice brings, if there are two or more."""
    if found < 2:
        return
    scratch, models, seated, chance = others
    worth, sizes = notes[4], notes[5]
    unit = price(rules, np.int64(row.hand_size))
    for place in range(found):
        scratch[0] = row
        points = played_out(scratch[0], rules, models, seated, chance, codes[place], relative)
        worth[at[first + 1] + place] = points / unit
    sizes[at[first]] = found
    at[first] += 1
    at[first + 1] += found
