"""Run directories: settings, state, metrics and a lock, alike for every method."""
