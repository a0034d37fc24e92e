"""The executors that play a tournament's units: this process, worker processes, or Ray."""
