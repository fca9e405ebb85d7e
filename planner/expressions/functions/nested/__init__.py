"""Functions of lists, structs and maps."""
