"""Values: what the product talks about. Standard library only, frozen, no input or output."""
