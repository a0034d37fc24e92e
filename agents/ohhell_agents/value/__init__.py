"""What bids and cards are worth: the heuristic player and what networks add to it; compiled."""
