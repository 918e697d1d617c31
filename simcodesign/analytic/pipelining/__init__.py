"""Operations that follow one another in closed form, where ranks continue before the one before has ended
everywhere."""
