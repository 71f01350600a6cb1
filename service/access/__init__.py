"""Who may call the service, how often and with how much; and what browsers are told."""
