"""The optimizer's rules: each is a function from a plan to a plan that gives the same rows."""
