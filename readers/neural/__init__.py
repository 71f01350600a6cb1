"""Neural readers trained from nothing: one file a model, net and reader together."""
