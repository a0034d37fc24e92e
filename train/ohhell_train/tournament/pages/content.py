"""The content of a report, before it is HTML or Markdown: sentences and tables.

Everything comes from the content of ``results.json`` (``Results.to_dict``); only ``times`` reads
data that depends on the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ohhell_env.errors import RulesError
from ohhell_env.rules import Rules
from ohhell_env.rules.explain import title as rules_title
from ohhell_env.rules.variants import VARIANTS
from ohhell_train.tournament.pages.terminal import headline, labels, over, ranking, rating_text

NOTHING = "–"
ERROR = 0.05
"""The significance level at which a difference counts as settled, over all comparisons together."""
_SHADES = 4
"""Shades of a cell, by the size of its difference."""

Data = dict[str, Any]
"""The content of ``results.json``."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    text: str
    kind: str = ""
    """"noise", "ahead-1" to "ahead-4", "behind-1" ..., "same", "alarm"; empty: ordinary."""
    title: str = ""
    """A tooltip, if the text alone is too short."""


@dataclass(frozen=True)
class Column:
    """The heading of a column."""

    heading: str
    title: str = ""
    text: bool = False
    """Whether the column holds words and not numbers."""


@dataclass(frozen=True)
class ReportTable:
    """Cells under headings; the column ``head`` names the row."""

    caption: str
    columns: list[Column]
    rows: list[list[Cell]] = field(default_factory=list)
    head: int = 0
    kind: str = ""


def columns(numbers: Iterable[str], *words: str) -> list[Column]:
    """Returns headings: those of words first, then those of numbers."""
    return [Column(word, text=True) for word in words] + [Column(number) for number in numbers]


def the_title(data: Data) -> str:
    """Returns the default title of a report."""
    return f"Tournament: {rules_title(Rules.from_dict(data['rules']))}"


def what_was_played(data: Data) -> list[tuple[str, str]]:
    """Returns the settings of the tournament, as terms and values."""
    game, count = data["episode"] == "game", len(data["entrants"])
    what = "game" if game else "deal"
    if data["challenger"] is not None:
        challenger = labels(data["entrants"])[data["challenger"]]
        how = f"{challenger} alone against a table of copies of each other entrant"
    elif data["design"] == "field":
        how = "every entrant alone against a table of copies of each other entrant"
    else:
        how = "mixed tables of different entrants, drawn so that all play equally often"
    said = [
        ("Rules", f"{rules_title(Rules.from_dict(data['rules']))} ({data['variant']})"),
        ("Entrants", f"{count}: {how}"),
        ("Blocks", f"{data['blocks']:,}{_planned(data)}: each is one {what}, played in every seat"),
        ("Cards", _cards(data)),
        ("Seed", str(data["seed"])),
    ]
    if data["anchor"] is not None:
        said.append(("Anchor of the ratings", labels(data["entrants"])[data["anchor"]]))
    versions = ", ".join(f"{name} {number}" for name, number in sorted(data["versions"].items()))
    return [*said, ("Versions", versions)]


def _planned(data: Data) -> str:
    if data["stop"] is None:
        return ""
    if data["blocks"] < data["planned_blocks"]:
        return f" of {data['planned_blocks']:,} at most (settled to ±{data['stop']:g} points)"
    return f" (not settled to ±{data['stop']:g} points by then)"


def _cards(data: Data) -> str:
    if data["episode"] == "game":
        return "whole games: all hand sizes of the schedule"
    if data["hand_size"] is None:
        return "single deals, hand sizes drawn from the schedule"
    return f"single deals of {data['hand_size']} card{'s' if data['hand_size'] > 1 else ''}"


def summary(data: Data) -> str:
    """Returns the settings of the tournament in one line."""
    return headline(data)


def verdict(data: Data) -> str:
    """Returns the outcome in a sentence or two."""
    order, short = ranking(data), labels(data["entrants"])
    first, challenger = data["entrants"][order[0]], data["challenger"]
    found, whom = over(data, order[0]), "the others at its tables"
    if found is None:  # the challenger: its result over all fields together
        found = first["difference"], first["difference_ci95"]
    elif challenger is not None:
        whom = f"{short[challenger]}, which sat alone against it"
    said = (
        f"{short[order[0]]} came first, {found[0]:+.2f}{half(found[1])} {_points(data)} over {whom}"
    )
    if first["disqualified"]:
        said += ", but was disqualified: random moves replaced its answers"
    close = [each for each in data["comparisons"] if each["inside_noise"]]
    total = len(data["comparisons"])
    if not close:
        return f"{said}. {_all_settled(total)}"
    are = "is" if len(close) == 1 else "are"
    noise = f"{len(close):,} of {total:,} differences {are}" if total > 1 else "The difference is"
    top = {order[0], order[1]}
    if any({each["better"], each["worse"]} == top for each in close):
        said += f"; it is not settled whether it is better than {short[order[1]]}"
    return f"{said}. {noise} within the noise."


def _all_settled(total: int) -> str:
    if total == 1:
        return "The difference is outside the noise."
    return f"All {total:,} differences between entrants, over all tables, are outside the noise."


def _points(data: Data) -> str:
    return "points a game" if data["episode"] == "game" else "points a deal"


def warnings(data: Data) -> list[str]:
    """Returns the warnings for the reader, faults first, with long names shortened."""
    said = sorted(data["warnings"], key=lambda text: "fault" not in text)
    long = {name: label for name, label in labels(data["entrants"]).items() if name != label}
    for name in sorted(long, key=len, reverse=True):
        said = [text.replace(name, long[name]) for text in said]
    return said


def half(ci95: Sequence[float] | None, digits: int = 2) -> str:
    """Returns " ± " and half the width of an interval; empty without an interval."""
    return "" if ci95 is None else f" ± {(ci95[1] - ci95[0]) / 2:.{digits}f}"


def standings_table(data: Data) -> ReportTable:
    """Returns the table of all entrants, the best first."""
    game = data["episode"] == "game"
    found = [Column("#"), Column("Entrant", text=True)]
    wins = Column("Wins", "share of the wins; a tie of k counts 1/k")
    found += [wins] if game else []
    found += [
        Column("Score" if game else "Points", f"mean {_points(data)}"),
        _over_column(data),
        Column("Bids made", "share of the deals in which the bid was made"),
    ]
    found += [] if game else [wins]
    paid = any("settlement" in row for row in data["entrants"].values())
    found += [Column("Paid", "payment from the settlement, a game")] if paid else []
    found += [
        Column("Rating", "OpenSkill's Bradley-Terry, ± 2 sigma"),
        Column("Over", "tricks above the bid, a deal"),
        Column("Under", "tricks below the bid, a deal"),
        Column("Faults", "decisions that it failed to make"),
    ]
    whom = "the others" if data["challenger"] is None else "the challenger"
    caption = f"Standings, by {_points(data)} over {whom}; ± is half a 95\u00a0% interval"
    order = ranking(data)
    rows = [_standing(data, place, name, game, paid) for place, name in enumerate(order, start=1)]
    return ReportTable(caption, found, rows, head=1, kind="standings")


def _over_column(data: Data) -> Column:
    if data["challenger"] is None:
        return Column("Over the others", "its points less the mean of the others at the table")
    challenger = labels(data["entrants"])[data["challenger"]]
    title = f"its points less those of {challenger}, which sat alone at tables of its copies"
    return Column("Over the challenger", title)


def over_text(data: Data, name: str) -> str:
    """Returns an entrant's advantage over the others, or over the challenger, in figures."""
    found = over(data, name)
    return NOTHING if found is None else f"{found[0]:+.2f}{half(found[1])}"


def _standing(data: Data, place: int, name: str, game: bool, paid: bool) -> list[Cell]:
    row = data["entrants"][name]
    wins = Cell(f"{row['win_share']:.1%}{_percent_half(row['win_share_ci95'])}")
    cells = [Cell(str(place)), Cell(name)]
    cells += [wins] if game else []
    cells += [
        Cell(f"{row['mean_points']:.2f}{half(row['ci95'])}"),
        Cell(over_text(data, name)),
        Cell(f"{row['made_rate']:.1%}{_percent_half(row['made_rate_ci95'])}"),
    ]
    cells += [] if game else [wins]
    if paid:
        cells.append(Cell(f"{row['settlement']:+.2f}{half(row['settlement_ci95'])}"))
    out = row["disqualified"]
    return [
        *cells,
        Cell(rating_text(row["rating"])),
        Cell(f"{row['over_tricks']:.2f}"),
        Cell(f"{row['under_tricks']:.2f}"),
        Cell(
            f"{row['faults']:,}{', disqualified' if out else ''}", "alarm" if row["faults"] else ""
        ),
    ]


def _percent_half(ci95: Sequence[float] | None) -> str:
    return "" if ci95 is None else f" ± {50 * (ci95[1] - ci95[0]):.1f}"


def matrix(data: Data) -> ReportTable:
    """Returns the differences between every pair of entrants; columns are numbered."""
    order, short = ranking(data), labels(data["entrants"])
    over = "less the column's, at tables with both"
    if data["design"] == "field":
        over = "alone against a table of the column's"
    largest = max((abs(pair["difference"]) for pair in data["pairs"].values()), default=0.0)
    heads = [Column(str(number), short[name]) for number, name in enumerate(order, start=1)]
    rows = [
        [
            Cell(f"{number}. {short[one]}"),
            *(_met(data, one, other, largest) for other in order),
        ]
        for number, one in enumerate(order, start=1)
    ]
    caption = (
        f"{_points(data).capitalize()} of the row's entrant, {over}; ± is half a 95\u00a0% "
        "interval. In brackets: within the noise"
    )
    return ReportTable(caption, [Column("Entrant", text=True), *heads], rows, kind="matrix")


def _met(data: Data, one: str, other: str, largest: float) -> Cell:
    pair = data["pairs"].get(f"{one}|{other}")
    if one == other or pair is None:
        return Cell("" if one == other else NOTHING, "same")
    ci95, value = pair["ci95"], pair["difference"]
    text = f"{value:+.2f}{half(ci95)}"
    if ci95 is None or ci95[0] <= 0.0 <= ci95[1]:
        return Cell(f"({text})", "noise", "within the noise")
    size = min(_SHADES, 1 + int(_SHADES * abs(value) / (largest or 1.0)))
    return Cell(text, f"{'ahead' if value > 0.0 else 'behind'}-{size}")


def comparisons(data: Data) -> ReportTable:
    """Returns the comparison of every pair of entrants, neighbours in the standings first."""
    short = labels(data["entrants"])
    place = {name: number for number, name in enumerate(ranking(data))}

    def nearness(each: dict[str, Any]) -> tuple[int, int]:
        ends = place[each["better"]], place[each["worse"]]
        return abs(ends[0] - ends[1]), min(ends)

    rows = [_compared(each, short) for each in sorted(data["comparisons"], key=nearness)]
    heads = [
        *columns((), "Better", "Worse"),
        Column("Difference", _points(data)),
        Column("95\u00a0% interval"),
        Column("p (Holm)", "adjusted for the number of comparisons"),
        Column("Blocks needed", "to settle a difference of this size"),
        Column("Verdict", text=True),
    ]
    return ReportTable(
        f"Differences between all pairs of entrants in {_points(data)}, neighbours in the "
        "standings first",
        heads,
        rows,
        kind="comparisons",
    )


def _compared(each: dict[str, Any], short: dict[str, str]) -> list[Cell]:
    noise = "noise" if each["inside_noise"] else ""
    ci95, needed = each["ci95"], each["blocks_needed"]
    return [
        Cell(short[each["better"]], noise),
        Cell(short[each["worse"]], noise),
        Cell(f"{each['difference']:+.3f}", noise),
        Cell(NOTHING if ci95 is None else f"{ci95[0]:+.2f} to {ci95[1]:+.2f}", noise),
        Cell(_chance(each["p_holm"]), noise),
        Cell(NOTHING if needed is None else f"{needed:,}", noise),
        _verdict(each),
    ]


def _verdict(each: dict[str, Any]) -> Cell:
    if each["inside_noise"]:
        return Cell("within the noise", "noise")
    if each["p_holm"] is None or each["p_holm"] >= ERROR:
        return Cell("not settled among this many", "noise")
    return Cell("settled")


def _chance(p: float | None) -> str:
    if p is None:
        return NOTHING
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


# ------------------------------------------------------------------------ made bids

MADE_BY = (
    ("hand_size", "Bids made by hand size", "hand size"),
    ("seat", "Bids made by seat", "seat, in the order of bidding"),
    ("bid", "Bids made by bid", "bid"),
)
"""Key of the data, heading, and label of the columns."""


def made_by(data: Data, what: str, heading: str) -> ReportTable:
    """Returns the made rates of all entrants, one column for each hand size, seat or bid."""
    order, short = ranking(data), labels(data["entrants"])
    rows = data["entrants"]
    keys = sorted({int(key) for row in rows.values() for key in row[f"made_by_{what}"]})
    heads = [Column(made_key(data, what, key)) for key in keys]
    caption = f"{heading}; deals in brackets"
    cells = [
        [Cell(short[name]), *(_made(rows[name][f"made_by_{what}"].get(str(key))) for key in keys)]
        for name in order
    ]
    return ReportTable(caption, [Column("Entrant", text=True), *heads], cells)


def made_key(data: Data, what: str, key: int) -> str:
    """Returns the name of a hand size, a seat or a bid."""
    if what != "seat":
        return "nil" if what == "bid" and key == 0 else str(key)
    if key == data["players"]:
        return "dealer"
    return {1: "eldest", 2: "2nd", 3: "3rd"}.get(key, f"{key}th")


def _made(found: dict[str, Any] | None) -> Cell:
    if found is None:
        return Cell(NOTHING)
    return Cell(f"{found['made_rate']:.0%} ({found['deals']:,})")


def off_by(data: Data) -> ReportTable:
    """Returns how often the tricks were how far from the bid."""
    order, short = ranking(data), labels(data["entrants"])
    rows = data["entrants"]
    keys = sorted({int(key) for row in rows.values() for key in row["off_by"]})
    heads = [Column("made" if key == 0 else f"{key:+d}".replace("-", "−")) for key in keys]
    cells = [
        [Cell(short[name]), *(_share(rows[name]["off_by"].get(str(key))) for key in keys)]
        for name in order
    ]
    caption = "Tricks above (+) or below (−) the bid, share of the deals"
    return ReportTable(caption, [Column("Entrant", text=True), *heads], cells)


def _share(share: float | None) -> Cell:
    return Cell(NOTHING if share is None else f"{share:.1%}")


# ----------------------------------------------------------------------------- times


def times(data: Data, timings: dict[str, Any]) -> tuple[str, ReportTable]:
    """Returns how long the play took, and the time of each player's decisions."""
    said = (
        f"{timings['deals']:,} deals at {timings['tables']:,} tables took "
        f"{timings['seconds']:,.1f} seconds, summed over all processes: "
        f"{timings['deals_per_second']:,.0f} deals a second in each."
    )
    short = labels(data["entrants"])
    asked = {short[name]: timings["entrants"].get(name) for name in ranking(data)}
    rows = [[Cell("all players inside the engine"), *_time(timings["engine"]), Cell(NOTHING)]]
    for name, row in asked.items():
        if row is not None:
            rows.append([Cell(name), *_time(row), Cell(row["first_fault"] or NOTHING)])
    heads = columns(("Decisions", "Seconds", "ms a decision"), "Player")
    heads.append(Column("First fault", text=True))
    return said, ReportTable("Time for decisions", heads, rows)


def _time(row: dict[str, Any]) -> list[Cell]:
    each = row["ms_per_decision"]
    return [
        Cell(f"{row['decisions']:,}"),
        Cell(f"{row['seconds']:,.2f}"),
        Cell(NOTHING if each is None else f"{each:.4g}"),
    ]


# ----------------------------------------------------------------- reading and repeating


def how_to_read(data: Data) -> list[tuple[str, str]]:
    """Returns explanations of words and figures, term by term."""
    game, players = data["episode"] == "game", data["players"]
    one = "a whole game" if game else "one deal"
    said = [
        (
            "Block",
            f"{one[:1].upper()}{one[1:]}, with the same cards and dealer, played {players} times "
            "so that every place of the line-up sits in every seat once. Everybody gets the good "
            "cards, so the luck of the cards cancels within the block. Blocks are independent of "
            "each other, but the tables of a block are not, so every interval is over blocks.",
        ),
        ("95\u00a0% interval", _interval_words(data)),
        (
            "Within the noise",
            "The interval contains zero, so these blocks do not show which of the two is better. "
            "“Blocks needed” estimates how many blocks would settle a difference of the size seen, "
            "if that is its true size.",
        ),
        (
            "p (Holm)",
            "How likely a difference this large would be between equal players, adjusted for the "
            "number of comparisons (Holm): if each is believed below 0.05, the chance of any error "
            "is at most 5\u00a0%. The intervals are for single comparisons.",
        ),
        _over_words(data),
    ]
    rating = (
        "OpenSkill's Bradley-Terry from the order of the entrants in each block, ± two sigma. It "
        "measures how often one finishes ahead of another, with a tie as half, and ignores the "
        "margin in points. The width is the model's own; rely on the differences first."
    )
    if data["anchor"] is not None:
        rating += f" Zero is {labels(list(data['entrants']))[data['anchor']]}."
    said.append(("Rating", rating))
    said.append(
        (
            "Fault",
            "A decision that a player failed to make (an error, an illegal move, out of time). A "
            "random legal move replaced it, and its points count.",
        )
    )
    return said


def _over_words(data: Data) -> tuple[str, str]:
    if data["challenger"] is None:
        return "Over the others", "Points less the mean of the others at the table, by block."
    challenger = labels(data["entrants"])[data["challenger"]]
    return (
        "Over the challenger",
        f"{challenger} sat alone at tables of copies of each other entrant. The figure is their "
        "advantage over it, by block; with the other sign it is its advantage over them. Two other "
        "entrants never met.",
    )


def _interval_words(data: Data) -> str:
    if data["stop"] is None:
        return (
            "Student's t over the blocks, for a number of blocks fixed beforehand. 95\u00a0% of "
            "these intervals contain the true mean. This would not be so if the play had stopped "
            "when the figures looked good."
        )
    return (
        "The tournament was to stop once its differences were settled, so the intervals hold at "
        "any time: the chance that an interval is wrong at any look at all is at most 5\u00a0% "
        "(an asymptotic confidence sequence). They are wider than those for a fixed number."
    )


def command(data: Data) -> str:
    """Returns the Python call that plays the tournament again."""
    rules = Rules.from_dict(data["rules"])
    lines, spelled = _rules_call(rules)
    names = ", ".join(repr(name) for name in sorted(data["entrants"]))
    given: list[tuple[str, Any, Any]] = [
        ("design", data["design"], "field"),
        ("hand_size", data["hand_size"], None),
        ("episode", data["episode"], "deal"),
        ("stop", data["stop"], None),
        ("challenger", data["challenger"], None),
        ("anchor", data["anchor"], "random" if "random" in data["entrants"] else None),
    ]
    extra = [f"    {name}={value!r}," for name, value, usual in given if value != usual]
    call = [
        "results = run_tournament(",
        f"    [{names}],",
        *(f"    {part}," for part in spelled),
        f"    deals={data['planned_blocks']},",
        f"    seed={data['seed']},",
        *extra,
        ")",
        'results.save("results")',
    ]
    return (
        "\n".join(["from ohhell_train.tournament import run_tournament", *lines, "", *call]) + "\n"
    )


def _rules_call(rules: Rules) -> tuple[list[str], list[str]]:
    """Returns the imports, and the arguments that give the rules."""
    if rules.name in VARIANTS:
        try:
            if Rules.preset(rules.name, rules.players) == rules:
                return [], [f"rules={rules.name!r}", f"players={rules.players}"]
        except RulesError:  # the variant itself does not allow this number of players
            pass
    return ["from ohhell_env.rules import Rules"], [f"rules=Rules.from_dict({rules.to_dict()!r})"]


def repeat_note(data: Data) -> str:
    """Returns the conditions for playing the tournament again."""
    said = (
        "Entrants are listed by name. For a player passed as an object or under another name, "
        "write the pair (name, player). With the versions above, the same call gives the same "
        "figures, if the players answer the same question in the same way."
    )
    if data["stop"] is not None:
        said += " The argument “unit” must be the same too, because it decides where play may stop."
    return said
