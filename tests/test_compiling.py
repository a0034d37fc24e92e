"""What people are told while something is compiled."""

from __future__ import annotations

import sys

import numba
import pytest
from numba.core import event
from ohhell_env.engine.compiling import tell_of_compiling


@pytest.mark.compiled_only
@pytest.mark.parametrize("looked_at", [True, False])
def test_it_is_told_once_and_only_on_a_terminal(
    looked_at: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    added: list[event.Listener] = []
    real = event.register

    def register(kind: str, listener: event.Listener) -> None:
        added.extend([listener] * (type(listener).__module__ == "ohhell_env.engine.compiling"))
        real(kind, listener)

    monkeypatch.setattr(event, "register", register)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: looked_at)
    tell_of_compiling()
    try:
        assert numba.njit(lambda number: number + 1)(1) == 2
        assert numba.njit(lambda number: number + 2)(1) == 3
    finally:
        for listener in added:
            event.unregister("numba:compile", listener)
    assert capsys.readouterr().err.count("compiling") == looked_at
