"""Numbers that others published or that theory gives, each compared with both readings, with a computed verdict.

One module a subject, each with its ``CASES``; ``published/`` holds what was typed off the papers. The modules import
each other relatively, for the folder is ``validation`` in a checkout and ``simcodesign.validation`` when installed.
``python -m validation`` runs them, as ``simcodesign validate`` does.
"""
