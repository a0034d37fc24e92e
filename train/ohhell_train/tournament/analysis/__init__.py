"""The analysis of a tournament: figures, ratings, intervals, and the results as files."""
