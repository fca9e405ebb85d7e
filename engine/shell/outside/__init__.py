"""What dot commands do outside of statements: other databases, folders, programs, dumps."""
