"""What each model learns: one file a model."""
