"""Self-play with MaskablePPO from sb3-contrib."""
