"""The database: one transaction per step, and the ledger row that commits with the data."""
