"""The engine: the rules of play, once, as compiled functions over one record per table.

Read ``layout.py`` (what a record holds), ``kernel.py`` (bidding and play), ``dealing.py``,
``scoring.py``, ``encode.py`` (observations), ``batch.py`` (loops over many tables).
"""
