"""What came of a simulation: its tables, measures, summary and files."""
