"""SPECseis96 resource-usage equations (Armstrong, Eigenmann)."""
