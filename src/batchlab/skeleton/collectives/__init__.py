"""Collectives: one file per family, one pure function per algorithm that yields rounds of messages."""
