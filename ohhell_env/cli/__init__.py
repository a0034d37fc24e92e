"""The command line ``ohhell``: its commands, and the program that runs them."""
