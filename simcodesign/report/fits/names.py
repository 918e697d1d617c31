"""Names of parameters and regions as LaTeX and Python take them, and models under such names."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence

from simcodesign.fitting.normal_form import Factor, Model, Term

#: Names in a module of models other than functions.
TAKEN = ("log2", "MODELS")
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "[": "{[}",
}


def renamed(model: Model, names: Mapping[str, str]) -> Model:
    """Return the model with its parameters under other names."""
    terms = [
        Term(term.coefficient, tuple(Factor(names[f.parameter], f.exponent, f.log, f.collective) for f in term.factors))
        for term in model.terms
    ]
    return Model(tuple(names[name] for name in model.parameters), model.constant, tuple(terms))


def latex_text(text: str) -> str:
    """Return the text as LaTeX prints it, its special signs included."""
    return "".join(_SPECIAL.get(sign, sign) for sign in " ".join(text.split()))


def latex_name(name: str) -> str:
    """Return a name of a parameter in a form for formulas: only its first underscore begins an index."""
    head, line, index = name.partition("_")
    safe = [latex_text(part).replace(" ", r"\ ") for part in (head, index)]
    return f"{safe[0]}{line}{safe[1]}"


def python_names(parameters: Sequence[str]) -> dict[str, str]:
    """Return an identifier for each parameter, all different."""
    taken = {*TAKEN}
    return {name: identifier(name, taken, "x") for name in parameters}


def identifier(text: str, taken: set[str], otherwise: str = "model") -> str:
    """Return a Python identifier like the text that is not ``taken`` yet; then it is."""
    base = re.sub(r"[\W_]+", "_", text, flags=re.ASCII).strip("_") or otherwise
    base = f"_{base}" if base[0].isdigit() else base
    base = f"{base}_" if keyword.iskeyword(base) else base
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    return name
