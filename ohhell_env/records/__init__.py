"""Recorded games as plain data and as text; replay, and the thoughts of players."""
