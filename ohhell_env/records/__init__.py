"""Recorded games: as plain data, as text to read, played again, with what players thought."""
