"""A file's bytes in, a book out; one file a format."""
