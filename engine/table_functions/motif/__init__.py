"""motif_count() and motif_sample()."""
