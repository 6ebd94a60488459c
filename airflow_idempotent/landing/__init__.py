"""Files: what a source holds is landed as numbered, immutable batches that only their manifest makes visible."""
