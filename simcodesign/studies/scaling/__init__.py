"""How the problem has to grow with the machine: isoefficiency, of formulas and of both readings."""
