"""Who plays the units of a tournament: this process, worker processes, or Ray."""
