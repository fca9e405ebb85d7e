"""Files as statements read and write them: local ones, and objects behind URLs."""
