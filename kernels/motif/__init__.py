"""Temporal motifs: the graph whose edges have times, and how often a pattern occurs in it."""
