"""Models of the user's own: Hugging Face folders and chat endpoints."""
