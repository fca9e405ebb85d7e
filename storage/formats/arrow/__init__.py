"""Arrow's types as SQL's: which SQL type values of other libraries have, and how they get it."""
