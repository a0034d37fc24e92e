"""The heuristic player's models of tricks: samples from its own play, and the fit."""
