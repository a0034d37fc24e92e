"""The environments.

``aec.py`` is PettingZoo's, ``gymnasium_env.py`` and ``gymnasium_vector.py`` are Gymnasium's with
one learner's seat, ``batched.py`` and ``learner_tables.py`` play many tables over arrays.
"""
