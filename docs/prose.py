"""Finds turns of phrase that a native editor would not write, in every text of the project.

    python -m docs.prose                    # list what is found; exit status 1 if anything is
    python -m docs.prose docs README.md     # in these files and folders alone
    python -m docs.prose --count            # how many in each file

``prose.toml`` holds the patterns, one entry each, and the exceptions. It says how to add one. Read
are Markdown, the Markdown cells of notebooks, comments, docstrings and all other strings of the
code that have more than one word: error messages and help texts among them. Code in a text, links
and generated parts of pages are left out.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
LIST = Path(__file__).with_name("prose.toml")
PLACES = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "mkdocs.yml", "pyproject.toml"),
    *("docs", "notebooks", "ohhell_env", "agents", "train", "benchmarks", "examples", "configs"),
)
"""The files and folders that are read unless others are named."""

OLD = ("CHANGELOG.md",)
"""Pages whose sentences may be of any length."""

_GENERATED = re.compile(r"<!-- generated: .*?<!-- end -->", re.DOTALL)
_NOT_PROSE = re.compile(
    r"(?ms)^(?P<fence> *(?:```|~~~)).*?^(?P=fence)"  # a block of code
    r"|<!--.*?-->"
    r"|(?P<ticks>`+).+?(?P=ticks)"  # code in a line
    r"|(?<=\])\([^()\n]*\)"  # the target of a link
    r"|https?://[^\s)>]+"
    r"|^\s*(?:>>>|\.\.\.) .*?$"  # an example in a docstring
)
_PARAGRAPH_ENDS = re.compile(r"\n\s*\n|\n\s*(?:[-*+]|\d+\.|#+|>|\|) |\n(?=\|)")
_SENTENCE_ENDS = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z~])"
)
_WORD = re.compile(r"[\w~][\w~'’.,-]*")


class Passage(NamedTuple):
    """A text, or a part of one, that is searched by itself."""

    line: int
    """The line of its file that it begins in."""
    text: str
    """The text, with as many letters as in the file: ``~`` stands where something is left out."""
    page: bool = False
    """Whether it is a page of documentation, whose sentences have a longest length."""


class Hit(NamedTuple):
    """A place where a pattern was found."""

    file: str
    line: int
    found: str
    advice: str
    """What to write instead."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.found!r}: {self.advice}"


@dataclass(frozen=True)
class Pattern:
    """One entry of the list."""

    wanted: re.Pattern[str]
    """What is searched for, in any case of letters."""
    write: str
    """What to write instead."""
    bad: tuple[str, ...]
    """Texts that it must find something in."""
    good: tuple[str, ...]
    """Texts that it must find nothing in."""
    sentence: bool = False
    """Whether it describes a sentence from its first word on."""

    @classmethod
    def of(cls, entry: dict[str, Any]) -> Pattern:
        """Returns an entry of the file as a pattern; a space stands for any white space."""
        whole = "sentence" in entry
        wanted = entry["sentence" if whole else "find"]
        # A lookbehind has a fixed length, so the space in one stays a space.
        spaced = re.sub(r"(\(\?<[!=][^()]*\))| ", lambda found: found[1] or r"\s+", wanted)
        bad, good = tuple(entry["bad"]), tuple(entry["good"])
        return cls(re.compile(spaced, re.IGNORECASE), entry["write"], bad, good, whole)

    def places(self, text: str) -> Iterator[tuple[int, str]]:
        """Yields where it is found in a text, and what."""
        if not self.sentence:
            for match in self.wanted.finditer(text):
                yield match.start(), match[0]
            return
        for start, sentence in sentences(text):
            if match := self.wanted.match(sentence):
                yield start, match[0]


@dataclass(frozen=True)
class Prose:
    """The list: patterns, exceptions and the longest sentence."""

    patterns: tuple[Pattern, ...]
    allowed: tuple[re.Pattern[str], ...]
    """Phrases in which nothing counts as found."""
    most_words: int
    """Words of the longest sentence of a page."""

    @classmethod
    def read(cls, path: Path = LIST) -> Prose:
        """Returns the list of a file."""
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        allowed = (re.escape(each).replace(r"\ ", r"\s+") for each in content["allowed"])
        return cls(
            tuple(map(Pattern.of, content["pattern"])),
            tuple(re.compile(each, re.IGNORECASE) for each in allowed),
            content["most_words"],
        )

    def check(self, file: str, passages: Iterable[Passage]) -> Iterator[Hit]:
        """Yields what is found in the passages of a file."""
        for line, text, page in passages:
            spared = [match.span() for each in self.allowed for match in each.finditer(text)]
            for pattern in self.patterns:
                for start, found in pattern.places(text):
                    if not any(first <= start < end for first, end in spared):
                        here = line + text.count("\n", 0, start)
                        yield Hit(file, here, " ".join(found.split()), pattern.write)
            for start, sentence in sentences(text) if page else ():
                words = len(_WORD.findall(sentence))
                if words > self.most_words:
                    here = line + text.count("\n", 0, start)
                    advice = f"{words} words; write two sentences, of {self.most_words} at most"
                    yield Hit(file, here, f"{sentence[:40]} …", advice)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yields the sentences of a text in one line each, with the place at which each begins."""
    for start, paragraph in _split(text, 0, _PARAGRAPH_ENDS):
        for place, sentence in _split(paragraph, start, _SENTENCE_ENDS):
            bare = sentence.lstrip(" \n-*+>|#")
            if bare:
                yield place + len(sentence) - len(bare), " ".join(bare.split())


def _split(text: str, start: int, ends: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    place = 0
    for match in ends.finditer(text):
        yield start + place, text[place : match.start()]
        place = match.end()
    yield start + place, text[place:]


# ---------------------------------------------------------------- what is read


def of_markdown(text: str) -> Iterator[Passage]:
    """Yields the prose of a page: its paragraphs and the cells of its tables."""
    text = _GENERATED.sub(_left_out, text)
    text = _NOT_PROSE.sub(_left_out, text)
    line = 1
    for block in re.split(r"(\n\s*\n|\n(?=\|)|(?<=\S) \| )", text):
        if block.strip(" \n|:-~"):
            yield Passage(line, block.strip("|"), page=True)
        line += block.count("\n")


def of_notebook(text: str) -> Iterator[Passage]:
    """Yields the prose of the Markdown cells, which all count as of line 1."""
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "markdown":
            for passage in of_markdown("".join(cell["source"])):
                yield passage._replace(line=1)


def of_python(text: str) -> Iterator[Passage]:
    """Yields comments, each with the lines that go on with it, and strings of several words."""
    comments = [
        (token.start[0], token.string.lstrip("# "), token.line.lstrip().startswith("#"))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    yield from _joined(comments)
    tree = ast.parse(text)
    inner = {id(part) for node in ast.walk(tree) for part in _parts(node)}
    for node in ast.walk(tree):
        if id(node) in inner or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        said = _text_of(node)
        if len(said.split()) > 1:
            yield Passage(node.lineno, _NOT_PROSE.sub(_left_out, said))


def _parts(node: ast.AST) -> list[ast.expr]:
    """Returns the parts of a string with values in it; none is a string of its own."""
    return node.values if isinstance(node, ast.JoinedStr) else []


def _text_of(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(_text_of(part) or "~" for part in _parts(node))


def of_comments(text: str) -> Iterator[Passage]:
    """Yields the comments of a file of settings or of a Makefile."""
    found: list[tuple[int, str, bool]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        before, sign, after = line.partition("#")
        if sign and (not before.strip() or before.endswith(" ")):
            found.append((number, after.lstrip("# "), not before.strip()))
    yield from _joined(found)


def of_page(text: str) -> Iterator[Passage]:
    """Yields the text of a template of a page, or of a script, without its tags."""
    yield Passage(1, re.sub(r"<[^<>]*>|\{[{%].*?[%}]\}", _left_out, text))


def _joined(comments: Iterable[tuple[int, str, bool]]) -> Iterator[Passage]:
    """Yields comments as passages: lines that hold nothing else and follow each other are one."""
    begin, last, lines = 0, -1, list[str]()
    for number, comment, alone in comments:
        if not (alone and number == last + 1 and lines):
            if lines:
                yield Passage(begin, _NOT_PROSE.sub(_left_out, "\n".join(lines)))
            begin, lines = number, []
        lines.append(comment)
        last = number if alone else -1
    if lines:
        yield Passage(begin, _NOT_PROSE.sub(_left_out, "\n".join(lines)))


def _left_out(match: re.Match[str]) -> str:
    """Returns what stands in place of code or a link: one word, with its line ends."""
    return re.sub(r"[^\n]", "~", match[0])


READERS: dict[str, Callable[[str], Iterator[Passage]]] = {
    ".md": of_markdown,
    ".ipynb": of_notebook,
    ".py": of_python,
    **dict.fromkeys((".yaml", ".yml", ".toml", ""), of_comments),
    **dict.fromkeys((".html", ".j2", ".js", ".css"), of_page),
}
"""How the text of a file is found, by the end of its name."""


def files(places: Iterable[str | Path] = PLACES) -> Iterator[Path]:
    """Yields the files of some places that have text in them."""
    for place in places:
        path = ROOT / place
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in found:
            hidden = any(part.startswith((".", "__")) for part in file.relative_to(path).parts[:-1])
            if file.suffix in READERS and file.is_file() and not hidden and file != LIST:
                yield file


def hits_of(file: Path, prose: Prose) -> list[Hit]:
    """Returns what is found in a file, from its first line to its last."""
    name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else str(file)
    passages = READERS[file.suffix](file.read_text(encoding="utf-8"))
    if file.name in OLD:
        passages = (passage._replace(page=False) for passage in passages)
    return sorted(dict.fromkeys(prose.check(name, passages)), key=lambda hit: hit.line)


def main(words: Sequence[str]) -> int:
    """Prints what is found in the files that are named, or in all; returns the exit status."""
    prose = Prose.read()
    named = [Path(word).absolute() for word in words if not word.startswith("-")]
    found = [hit for file in files(named or PLACES) for hit in hits_of(file, prose)]
    if "--count" in words:
        for name, count in Counter(hit.file for hit in found).most_common():
            print(f"{count:5} {name}")
    else:
        for hit in found:
            print(hit)
    if found:
        print(f"{len(found)} places; docs/prose.toml has the patterns and the exceptions")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
