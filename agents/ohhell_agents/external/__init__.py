"""Players from elsewhere: programs that answer JSON lines, and Python classes."""
