"""The published report of a tournament: one HTML file, the same as Markdown, and sample games.

``write_pages`` writes them all. ``html_page`` and ``markdown_page`` create the texts from plain
data (the content of ``results.json`` and ``timings.json``), and ``sample_games`` chooses the games.
"""

from __future__ import annotations

from pathlib import Path

from ohhell_env.files import write_whole
from ohhell_env.records.record import to_json
from ohhell_train.tournament.analysis.results import Results, unwritable
from ohhell_train.tournament.pages.markdown import markdown_page
from ohhell_train.tournament.pages.page import html_page
from ohhell_train.tournament.pages.samples import Sample, sample_games

REPORT = "report"
GAMES = "games"

__all__ = ["Sample", "html_page", "markdown_page", "sample_games", "write_pages"]


def write_pages(results: Results, folder: str | Path, title: str | None = None) -> list[Path]:
    """Writes report.html, report.md and the sample games, each completely or not at all.

    Equal results give equal files, except for the section "Times" of the reports.

    Args:
        results: The tournament.
        folder: The folder, which is created if necessary.
        title: Title of the report; None makes one from the rules.

    Returns:
        The paths of the files: report.html, report.md, then the records of the sample games, which
        ``ohhell replay`` shows.

    Raises:
        OhHellError: The files cannot be written.
    """
    data, timings = results.to_dict(), results.timings()
    samples = sample_games(results)
    base = Path(folder)
    texts = {
        base / f"{REPORT}.html": html_page(data, samples, timings, title),
        base / f"{REPORT}.md": markdown_page(data, samples, timings, title),
    }
    for sample in samples:
        if sample.record is not None:
            texts[base / GAMES / f"{sample.slug}.json"] = to_json(sample.record)
    for path, text in texts.items():
        try:
            write_whole(path, text)
        except OSError as error:
            raise unwritable(path, error) from None
    for sample in samples:
        if sample.record is None:  # an older report's file would show another game
            (base / GAMES / f"{sample.slug}.json").unlink(missing_ok=True)
    return list(texts)
