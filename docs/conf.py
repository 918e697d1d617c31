"""How the site is built: ``make docs``. Nothing is fetched, and every warning is an error."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["PYTHONPATH"] = str(HERE / "_ext")  # of the kernels that draw docs/effects.md
os.environ |= {"COLUMNS": "80", "OPENBLAS_NUM_THREADS": "1"}

lexers["csv"] = TextLexer()  # of which Pygments knows nothing

project = "simcodesign"
author = "The simcodesign developers"
version = release = installed_version(project)

extensions = [
    "checked_links",  # docs/_ext: no link of a page leads nowhere
    "console_blocks",  # docs/_ext: commands that run when the site is built
    "generated_pages",  # docs/_ext: a page for each command and each public name
    "lesson_pages",  # docs/_ext: lessons in frames
    "mathml",
    "myst_nb",
    "page_descriptions",  # docs/_ext: what search engines show of a page
    "reference_pages",  # docs/_ext: tables made of the registries of the program
    "search_words",  # docs/_ext: the page that explains comes first
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery", "_lessons", *(f"drawn/*.{kind}" for kind in ("ipynb", "py", "zip", "json", "md5"))]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_merge_streams = True

smartquotes = False  # "--set" is an option, and no dash

autodoc_typehints = "description"
autodoc_member_order = "bysource"
autosummary_generate = True

copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_copy_empty_lines = False
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "drawn",
    "filename_pattern": r"plot_\w+\.py",
    "download_all_examples": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = project
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc", "sourcelink"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_sidebars = {"lesson-pages": [], "changelog": []}  # pages of no section
html_css_files = ["site.css"]
html_extra_path = ["_lessons"]
