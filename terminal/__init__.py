"""What every command prints: JSON for machines, tables and progress for people."""
