"""Documents and their properties, as of WikiReading: read, made and counted."""
