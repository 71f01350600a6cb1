"""bAbI's worlds: stories of facts with questions about them, simulated or read from files."""
