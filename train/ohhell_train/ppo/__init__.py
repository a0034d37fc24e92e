"""Self-play with sb3-contrib's MaskablePPO."""
