"""Graphs of tables, as libraries for graph neural networks read them."""
