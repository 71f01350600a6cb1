"""Labelled questions in, checkpoints out."""
