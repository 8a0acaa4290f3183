"""How far answers can be trusted: planted failures, healthy fits, structureless data, held-out likelihood."""
