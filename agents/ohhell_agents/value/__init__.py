"""Expected points of bids and cards: the heuristic player, and its advantage nets; compiled."""
