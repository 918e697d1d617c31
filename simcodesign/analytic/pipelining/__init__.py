"""Operations that follow one another in closed form, where ranks go on before the one before has ended everywhere."""
