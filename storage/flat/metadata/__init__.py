"""The three metadata tiers of a FlatStor file: built, read and checked, described and drawn."""
