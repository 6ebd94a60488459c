"""Actions become SQL here, as sqlglot trees: names quoted, values bound, never text pasted together."""
