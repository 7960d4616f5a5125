"""Why a job waited: who had the machine meanwhile, and which ends set its start (semantics, S29)."""
