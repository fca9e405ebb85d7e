"""How the pairs of texts are found in a sample of them."""
