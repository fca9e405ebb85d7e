"""Object stores: files and databases behind URLs such as s3://bucket/key, by obstore."""
