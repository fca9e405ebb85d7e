"""States of time series: change points (ClaSP), their segments classified and merged (CLaP)."""
