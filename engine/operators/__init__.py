"""The general path: physical plans run vectorised over Arrow, operator by operator."""
