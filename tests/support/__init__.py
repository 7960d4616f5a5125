"""What several tests share: random cases, runs of them, results and projects made by hand, oracles."""
