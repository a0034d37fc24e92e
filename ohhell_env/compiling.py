"""Says on a terminal that something is compiled, which takes a while without another word."""

from __future__ import annotations

import sys
from typing import Any

_NOTICE = "compiling for this machine, once; the first time this takes up to some minutes ..."


def tell_of_compiling() -> None:
    """Has one line written to stderr as soon as something is compiled and not found in the caches.

    Only where people look on, and where numba is loaded already: this loads it for nobody.
    """
    if "numba" not in sys.modules or not sys.stderr.isatty():
        return
    from numba.core import event

    class Notice(event.Listener):
        told = False

        def on_start(self, event: event.Event) -> None:
            if not self.told:
                self.told = True
                print(_NOTICE, file=sys.stderr, flush=True)

        def on_end(self, event: event.Event) -> None:
            pass

    register: Any = event.register  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    register("numba:compile", Notice())
