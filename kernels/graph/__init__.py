"""Graphs: numbers for nodes of any type, and partitions of streams of edges (SPRING)."""
