"""Our game inside other libraries: one module for each, imported only by who uses it.

``adapters.open_spiel`` is a game of OpenSpiel, ``adapters.rllib`` an environment of RLlib; see
``docs/adapters.md``. Nothing here knows rules of play: Game and the environments do.
"""
