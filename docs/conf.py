"""The Sphinx configuration. ``make docs`` writes the site to ``site/``. Its pages load nothing from the network."""

import ast
import importlib
import inspect
import re
import textwrap
import tomllib
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mapgauge.errors import MissingDependency
from mapgauge.version import __version__

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

project = "mapgauge"
author = "The mapgauge authors"
project_copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["images"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4  # so that links to a heading work here as they do on a code host

html_theme = "furo"
html_title = f"mapgauge {release}"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["mapgauge.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options: dict[str, Any] = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}

# Pages lead to their source once the repository has an address (tools/metadata.py).
_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
_ADDRESS = _PROJECT["tool"]["mapgauge"]["address"]
if _ADDRESS:
    html_theme_options["source_repository"] = f"{_ADDRESS}/"
    html_theme_options["source_branch"] = "main"
    html_theme_options["source_directory"] = "docs/"

autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
napoleon_use_rtype = False

LISTS = re.compile(r"^`[\w.]+`(?:,\s`[\w.]+`)*$", re.M)  # of names, on the page of the interface


def setup(app: "Sphinx") -> None:
    """Register what these pages need beyond Sphinx, so that the same Markdown also reads well on a code host."""
    app.connect("config-inited", _write_interface)
    app.connect("source-read", _add_contents)
    app.connect("source-read", _add_interface)
    app.connect("source-read", _name_files)
    app.connect("doctree-read", _trim_code)
    app.add_html_math_renderer("mathml", inline_renderers=(_inline_equation, None), block_renderers=(_equation, None))
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-process-docstring", _add_fields)
    app.connect("autodoc-skip-member", _skip_fields)


def contents_of(index: str) -> list[tuple[str, list[str]]]:
    """The pages that the tables of an index page link to, in order, grouped by the headings of the tables."""
    heading, found = "", []
    for line in index.splitlines():
        if not line.startswith("|"):
            heading = ""
            continue
        heading = heading or line.split("|")[1].strip()
        found += [(heading, page) for page in re.findall(r"\]\(([\w/-]+)\.md\)", line)]
    return [(name, [page for _, page in group]) for name, group in groupby(found, key=lambda entry: entry[0])]


def _add_contents(app: "Sphinx", name: str, source: list[str]) -> None:
    """Hand Sphinx the links of the first page, and of the first page of a folder, as its tree of pages."""
    if name.split("/")[-1] == "index":
        for heading, pages in contents_of(source[0]):
            caption = f":caption: {heading.capitalize()}"
            source[0] += "\n".join(["", "```{toctree}", ":hidden:", caption, "", *pages, "```", ""])


def _write_interface(app: "Sphinx", config: Any) -> None:
    """Write a page for each public name to ``reference/api/``. Pages that have not changed are left alone."""
    folder = Path(app.srcdir) / "reference" / "api"
    folder.mkdir(exist_ok=True)
    pages = {}
    for names in LISTS.findall((folder.parent / "api.md").read_text(encoding="utf-8")):
        for name in re.findall(r"`([\w.]+)`", names):
            if (thing := _found(name)) is not None:
                pages[_page_of(name)] = _page(name, isinstance(thing, type))
    for file in folder.glob("*.md"):
        if file.stem not in pages:
            file.unlink()
    for stem, text in pages.items():
        file = folder / f"{stem}.md"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def _page_of(name: str) -> str:
    """The file name of the page of a public name. Some file systems do not tell ``Sweep`` from ``sweep``."""
    return f"class.{name}" if name.rpartition(".")[2][0].isupper() else name


def _page(name: str, is_class: bool) -> str:
    # Brackets keep Sphinx from looking for a signature, which it cannot find for errors.
    directive = f".. autoclass:: mapgauge.{name}()" if is_class else f".. autofunction:: mapgauge.{name}"
    members = "   :members:\n" if is_class else ""
    return f"# {name}\n\n```{{eval-rst}}\n{directive}\n{members}```\n\n[All public names](../api.md)\n"


def _found(name: str) -> Any:
    """The public name itself, or None if a package is missing: torch, for example, is not needed for these pages."""
    module, _, thing = f"mapgauge.{name}".rpartition(".")
    try:
        return getattr(importlib.import_module(module), thing)
    except MissingDependency:
        return None


def _add_interface(app: "Sphinx", name: str, source: list[str]) -> None:
    """Replace each list of names by a table, with a link to the page of each name and its first sentence."""
    if name == "reference/api":
        source[0] = LISTS.sub(_table_of, source[0])


def _table_of(names: re.Match[str]) -> str:
    rows, pages = ["| name | |", "| --- | --- |"], []
    for name in re.findall(r"`([\w.]+)`", names[0]):
        thing = _found(name)
        if thing is None:
            rows.append(f"| `{name}` | its package is not installed |")
            continue
        first = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ").replace("``", "`").replace("|", "\\|")
        rows.append(f"| [`{name}`](api/{_page_of(name)}.md) | {first} |")
        pages.append(f"{name} <api/{_page_of(name)}>")
    return "\n".join([*rows, "", "```{toctree}", ":hidden:", "", *pages, "```"])


def _name_files(app: "Sphinx", name: str, source: list[str]) -> None:
    """Replace links to files outside these pages by the names of the files. The links work on a code host."""
    pages = Path(app.srcdir).resolve()

    def named(link: re.Match[str]) -> str:
        file = (pages / name).parent.joinpath(link[2]).resolve()
        return link[0] if file.is_relative_to(pages) else f"{link[1]} (`{file.relative_to(pages.parent).as_posix()}`)"

    source[0] = re.sub(r"\[([^\]]+)\]\((\.\./[^)#\s]+)(?:#[^)\s]*)?\)", named, source[0])


def _trim_code(app: "Sphinx", tree: "nodes.document") -> None:
    """Remove the empty line at the end of an example. doctest needs it, a reader does not."""
    from docutils.nodes import Text, literal_block

    for block in tree.findall(literal_block):
        block.rawsource = block.astext().rstrip()
        block.children = [Text(block.rawsource)]


def _mathml(self: "HTML5Translator", node: "nodes.Node", *, as_block: bool) -> str:
    r"""An equation as MathML. ``\cr`` ends a row, because code hosts take ``\\`` for an escape."""
    from docutils.utils.math import MathError, latex2mathml
    from sphinx.util import logging

    source = node.astext().replace(r"\cr", r"\\")
    try:
        return str(latex2mathml.tex2mathml(source, as_block=as_block))
    except MathError as error:
        logging.getLogger(__name__).warning("no MathML for %r: %s", source, error, location=node)
        return f"<code>{self.encode(source)}</code>"


def _inline_equation(self: "HTML5Translator", node: "nodes.math") -> None:
    from docutils.nodes import SkipNode

    self.body.append(_mathml(self, node, as_block=False))
    raise SkipNode


def _equation(self: "HTML5Translator", node: "nodes.math_block") -> None:
    from docutils.nodes import SkipNode

    self.body.append(f'<div class="equation">{_mathml(self, node, as_block=True)}</div>\n')
    raise SkipNode


def _signature(
    app: "Sphinx", what: str, name: str, thing: Any, options: Any, arguments: str | None, returned: str | None
) -> tuple[str, str] | None:
    """The signature as written in the source, where types have names. Fields are listed separately."""
    if what in ("class", "exception"):
        made_by = None if fields_of(thing) else definition_of(vars(thing).get("__init__"))
        return (_parameters(made_by) if isinstance(made_by, ast.FunctionDef) else ""), ""
    if what not in ("function", "method"):
        return None
    definition = definition_of(inspect.unwrap(thing))
    if not isinstance(definition, ast.FunctionDef):
        return None
    result = "" if definition.returns is None else ast.unparse(definition.returns)
    return _parameters(definition), result.strip("'\"")


def _parameters(definition: ast.FunctionDef) -> str:
    """The parameters of a function, without ``self`` or ``cls``."""
    parameters = definition.args
    if parameters.args and parameters.args[0].arg in ("self", "cls"):
        parameters.args = parameters.args[1:]
    return f"({ast.unparse(parameters)})"


def definition_of(thing: Any) -> ast.stmt | None:
    """The syntax tree of a class or a function, or None without source."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    except (OSError, TypeError):
        return None


class Field(NamedTuple):
    """The type of a field of a class, and the comment beside it."""

    kind: str
    comment: str


def fields_of(kind: type) -> dict[str, Field]:
    """The fields of a class in the order of its source, each with its type and the comment beside it."""
    definition = definition_of(kind)
    if not isinstance(definition, ast.ClassDef):
        return {}
    lines = textwrap.dedent(inspect.getsource(kind)).splitlines()
    found = {}
    for item in definition.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and not item.target.id.startswith("_"):
            _, _, comment = lines[(item.end_lineno or 1) - 1].partition("  # ")
            found[item.target.id] = Field(ast.unparse(item.annotation), comment.strip())
    return found


def _add_fields(app: "Sphinx", what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Add the fields of a class below its docstring. The description of a field is the comment beside it."""
    if what == "class" and (fields := fields_of(thing)):
        lines += ["", ".. rubric:: Fields", ""]
        for field, (kind, comment) in fields.items():
            lines.append(f"- **{field}**: ``{kind}``" + (f"; {comment}" if comment else ""))
        lines.append("")


def _skip_fields(app: "Sphinx", what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Skip fields: they have their own list."""
    return True if inspect.ismemberdescriptor(thing) or type(thing).__name__ == "_tuplegetter" else None
