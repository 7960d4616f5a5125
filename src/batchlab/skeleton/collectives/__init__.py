"""Collectives: one file per family, one pure function per algorithm that gives rounds of messages."""
