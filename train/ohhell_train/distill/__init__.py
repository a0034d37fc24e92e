"""Distillation: a network is fitted to the games of an existing player.

A teacher plays (``games.py``); its views, choices and rewards are kept in parts (``dataset.py``).
The policy is fitted to its choices, and the critic to the results of the deals. During training
only, the policy also guesses the hands that it cannot see (``fit.py``). The result is a checkpoint
like those of PPO self-play, which can continue from it. ``config.py`` has the settings.
"""
