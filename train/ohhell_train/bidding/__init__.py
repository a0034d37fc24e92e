"""A player's bidding: its bids by hand, how often it makes them, how well it predicts."""

from ohhell_train.bidding.bids import BIDS, play_bids

__all__ = ["BIDS", "play_bids"]
