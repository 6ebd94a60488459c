"""From specs to DAGs: one per table, a folder of them by one call."""
