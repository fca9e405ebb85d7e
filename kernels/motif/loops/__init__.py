"""The hot loops of temporal motifs."""
