"""Strings in; code points, tokens, sentences, spans and their overlap out: no model, no file."""
