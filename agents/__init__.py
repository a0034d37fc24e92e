"""Players of Oh Hell: random, heuristic, searching and learned, behind `agents.make`."""
