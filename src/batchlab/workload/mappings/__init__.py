"""Mappings of the columns of public data sets, and of logs of one's own."""
