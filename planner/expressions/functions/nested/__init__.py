"""Functions of lists, structs, maps and JSON."""
