"""Loops over the frames of window functions, which are ranges of places in the rows' order.

Frames come row by row; mostly each begins and ends no earlier than the one before, so that a loop
goes on from what it has. The ends of all frames are those of ranges that `frame.py` makes.
"""
