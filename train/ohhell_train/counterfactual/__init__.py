"""Counterfactual self-play: every choice of a decision is played out on the true deal.

Each round the player plays against itself. At many decisions every legal action is tried, and the
same player plays the deal out on the true cards
(``train/ohhell_train/counterfactual/rollouts.py``). Networks that correct the heuristic player's
estimates are fitted to the results, and the next round begins with the corrected player.
``config.py`` has the settings, ``dataset.py`` the labels, ``fit.py`` the networks, ``run.py`` the
rounds.
"""
