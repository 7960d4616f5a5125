"""The result of a simulation: tables, measures, summary and files."""
