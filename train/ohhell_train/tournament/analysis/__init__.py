"""What a tournament's numbers say: figures, ratings, intervals, and the results as files."""
