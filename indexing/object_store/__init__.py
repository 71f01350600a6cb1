"""Books in the bucket of an object store: what speaks the protocol of S3, Google Cloud Storage, or Azure."""
