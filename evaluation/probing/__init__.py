"""Which of bAbI's twenty skills a reader or a service has, asked about stories that it has never met."""
