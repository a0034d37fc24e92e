"""What a run shows: a bar in a terminal, a line a minute elsewhere."""

from __future__ import annotations

import pytest

from ohhell_train.runs import display
from ohhell_train.runs.display import Display


def test_without_a_terminal_there_is_a_line_a_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(display.time, "monotonic", lambda: now)
    with Display() as shown:
        shown.note(left="about 3 minutes left")
        for now in (1.0, 59.0, 60.0, 61.0, 125.0):
            shown.show("playing", now / 200, "round 1 of 3")
        shown.say("after 1 round: +0.40")
        now = 184.0
        shown.show("fitting", 0.9, "round 1 of 3")
    assert capsys.readouterr().out.split("\n")[:3] == [
        "playing: 30%, round 1 of 3, about 3 minutes left",
        "playing: 62%, round 1 of 3, about 3 minutes left",
        "after 1 round: +0.40",
    ]


def test_quiet_says_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "LINE_SECONDS", 0.0)
    with Display(quiet=True) as shown:
        shown.show("playing", 0.5, "round 1 of 3")
        shown.say("a line")
    assert capsys.readouterr().out == ""
