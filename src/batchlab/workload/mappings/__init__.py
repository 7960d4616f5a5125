"""Mappings: which columns of a public data set, or of a log of one's own, hold what of a job."""
