"""Readers of accounting logs of batch systems."""
