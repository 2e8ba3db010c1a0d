"""Which demonstration guarantees most."""
