"""The search player: worlds that fit what it has seen, played out inside the engine."""
