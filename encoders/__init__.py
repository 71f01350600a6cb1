"""Token ids in; states, vectors and scores out: the pretrained backbone and what is trained beside it."""
