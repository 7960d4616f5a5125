"""Read dumps of a live cluster: its jobs, nodes, reservations and priorities at one instant."""
