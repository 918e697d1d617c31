"""Operations whose ranks come to their messages at different times: exact times in Hockney's model, rank by rank."""
