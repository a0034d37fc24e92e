"""Counterfactual self-play: every choice of a decision is played out on the true deal.

A round: the player plays against itself; at many decisions each legal action is tried, and the deal
is played out by the same player on the cards as they really lie
(``train/ohhell_train/counterfactual/rollouts.py``). Networks that correct the player's reckoning
are fitted to what came of it, and the next round begins with the corrected player. ``config.py``
has the settings, ``dataset.py`` the labels, ``fit.py`` the networks, ``run.py`` the rounds.
"""
