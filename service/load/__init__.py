"""Many questions at once: queued, read in batches, refused where there are too many."""
