"""Books over HTTP: uploads, the jobs that index them, and the process that does."""
