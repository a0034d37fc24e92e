"""Run directories: settings, state, metrics and a lock, the same for every method."""
