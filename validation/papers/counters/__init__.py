"""Hardware-counter models (APMT; Ding)."""
