"""Calls in FROM."""
