"""What a player bids, with which hands, how often it makes it, and how well it knows."""

from ohhell_train.bidding.bids import BIDS, play_bids

__all__ = ["BIDS", "play_bids"]
