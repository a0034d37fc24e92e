"""``ohhell play``: a person plays against the project's players, in the terminal.

``session.py`` plays one game after another, ``match.py`` is one game, and ``view.py`` is what the
person may see of it. ``app.py`` shows the table, ``plain.py`` the game line by line. The engine
decides everything that follows from the rules.
"""
