"""What the user writes: one table, one spec, in YAML or Python; the same models either way."""
