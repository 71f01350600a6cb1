"""Models in Hugging Face's format, from a folder or the hub."""
