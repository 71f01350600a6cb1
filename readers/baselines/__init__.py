"""Readers without a trained model: similarity, overlap and chance."""
