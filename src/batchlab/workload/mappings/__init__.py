"""Column mappings for public data sets and custom logs."""
