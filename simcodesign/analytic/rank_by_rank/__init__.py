"""Operations in LogGOPS whose ranks differ, so that who comes first where decides: exact times, rank by rank."""
