"""The readers that ship as the default, all on the shared cross-encoder."""
