"""Codecs and hashes of byte strings."""
