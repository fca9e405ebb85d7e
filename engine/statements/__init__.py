"""Statements that change the database: each takes a snapshot and gives the next one."""
