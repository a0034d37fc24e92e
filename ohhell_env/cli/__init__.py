"""The command line ``ohhell``: its commands, and the frame that runs them."""
