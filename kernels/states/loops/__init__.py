"""The hot loops of the states of time series."""
