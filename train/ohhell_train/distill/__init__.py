"""Distillation: a network is fitted to the games of a player that is there already.

A teacher plays (``games.py``); what it saw, chose and was paid is kept in parts (``dataset.py``).
The policy is fitted to its choices, the critic to what the deals brought, and in training alone the
policy also guesses the hands that it cannot see (``fit.py``). What comes out is a checkpoint
like those of PPO self-play, which can go on from there. ``config.py`` has the settings.
"""
