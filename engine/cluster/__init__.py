"""A cluster: workers scan segments of tables, and a coordinator puts their groups together."""
