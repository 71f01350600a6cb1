"""Readers without a trained network: similarity, overlap, counts of words and chance."""
