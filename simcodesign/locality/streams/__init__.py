"""Address streams made, not recorded: of kernels, of irregular accesses, and of a given profile."""
