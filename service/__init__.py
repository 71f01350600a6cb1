"""HTTP and command line in, cited answers out."""
