"""Names and types to a catalog: statements to logical plans."""
