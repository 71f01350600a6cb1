"""The training data: texts cut into passages, and what is asked about each."""
