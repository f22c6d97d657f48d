"""Find the single best rule in a table, and prove that it is the best."""
