"""The data sets: one file each, and what they have in common."""
