"""What papers printed, and which of our systems each row is: a TOML file a data set."""
