"""``ohhell play``: a person plays against the project's players, in the terminal.

``match.py`` is the game with everybody at its table, ``sight.py`` what the person may see of it;
``app.py`` and ``plain.py`` are two faces over them. Nothing of the rules is decided here.
"""
