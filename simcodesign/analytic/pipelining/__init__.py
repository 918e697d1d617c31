"""Operations that follow one another in closed form, if ranks continue before the previous one has ended everywhere."""
