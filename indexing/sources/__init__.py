"""Where books come from: files, folders, addresses, Project Gutenberg."""
