"""Adapters: our game inside other libraries, one module for each, imported only on request.

``adapters.open_spiel`` is a game of OpenSpiel, and ``adapters.rllib`` an environment of RLlib; see
``docs/adapters.md``. No module here knows rules of play: Game and the environments do.
"""
