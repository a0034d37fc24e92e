"""The engine: the rules of play, once, as compiled functions over one record per table.

See ``layout.py`` (the content of a record), ``kernel.py`` (bidding and play), ``dealing.py``,
``scoring.py``, ``encode.py`` (observations), ``batch.py`` (loops over many tables).
"""
