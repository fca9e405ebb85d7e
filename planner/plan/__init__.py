"""Plans: logical and physical nodes, and what is known of them."""
