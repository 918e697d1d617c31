"""Operations whose ranks reach their messages at different times: exact times in Hockney's model, rank by rank."""
