"""The service seen from outside: metrics, traces, logs."""
