"""The heuristic player's trick models: samples from its own play, and the fit."""
