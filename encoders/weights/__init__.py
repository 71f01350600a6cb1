"""Trained weights, each with a model card beside it."""
