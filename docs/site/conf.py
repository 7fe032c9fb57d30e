"""Sphinx's settings for the site; `make docs` gathers the pages and builds them."""

project = "expectant"
author = "The expectant developers"
extensions = ["myst_parser", "sphinx.ext.mathjax"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["examples", "src", "tests", "benchmarks"]

myst_heading_anchors = 4  # what links like page.md#a-heading lead to
myst_enable_extensions = ["deflist", "attrs_inline", "dollarmath"]
mathjax_path = "tex-svg.js"  # copied by gather_pages.py
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

smartquotes = False  # --quick must stay as it is
html_theme = "furo"
html_title = "expectant"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"sidebar_hide_name": False, "navigation_with_keys": True}
pygments_style = "friendly"
