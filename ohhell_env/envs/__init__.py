"""The environments.

``aec.py`` is the PettingZoo environment; ``gymnasium_env.py`` and ``gymnasium_vector.py`` are the
Gymnasium environments for one learner; ``batched.py`` and ``learner_tables.py`` play many tables
over arrays.
"""
