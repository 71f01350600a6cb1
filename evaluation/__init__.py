"""A benchmark and a system in, scores, tables and plots out."""
