"""Players that are torch networks over an observation."""
