"""Generated from flatstor.fbs by flatc; see there."""
