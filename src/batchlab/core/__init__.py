"""What every room builds on, and what builds on no room."""
