"""What will happen, as data: pure functions of specs, manifests and catalogue facts."""
