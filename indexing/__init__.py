"""Files in, immutable book indexes out."""
