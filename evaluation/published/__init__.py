"""What papers printed, and which of our systems each row is."""
