"""Training by self-play, and tournaments on duplicate deals."""
