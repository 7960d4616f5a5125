"""Why a job waited: use of the machine meanwhile, and the ends that determined its start (semantics, S29)."""
