"""Objects of MPI that a rank makes for itself: datatypes, groups, hints, error handlers, attributes."""
