"""The words of the README, the changelog, the documentation and the first screens: short sentences, one term for one thing, no
turn that a reader has to decode.

Code and quoted screens of a page are left out: the screens themselves are looked at, as terminals of 60 and 80 columns show
them. What `-v` adds may name a test or a letter of the statistics.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    {
        *(f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "ARCHITECTURE", "SECURITY")),
        *(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")),
    }
)
WORDS_OF_A_SENTENCE = 28
COLUMNS_OF_A_SCREEN, LINES_OF_A_SCREEN = 80, 24
CHARACTERS_OF_A_CHANGE = 120
LINES_OF_A_TASK = 60
BYTES_OF_THE_MAP = 30_000

# What a reader stumbles over, and what to write.
INSTEAD = {
    r"\bstands?\b(?! out| by)": "is, means",
    r"\bcomes? to\b": "is, makes",
    r"\bsays so\b": "reports it",
    r"\bof which\b": "a noun, or a new sentence",
    r"\bso (?:many|much|long)\b(?! (?:as|that|for))": "N, a number, a time",
    r"\bcount as\b|\bcounts as \d": "are; effective sample size",
    r"\bcreeps?\b": "becomes slower or faster",
    r"\bslow ones\b": "slow steps, slow writes",
    r"\bcome together\b": "cluster",
    r"\bdue once\b": "14 of 100 healthy runs have one",
    r"\bDo not extrapolate\b": "cannot predict rarer steps",
    r"\bmore reasons?\b": "leave it out",
    r"\b(?:Without any|The) law\b|\blaw of maxima\b": "distribution",
    r"\bholds all the same\b": "leave it out",
    r"\bunattributed\b": "no cause seen",
    r"\bput down to\b": "caused by",
    r"\bwaiting for a processor\b": "CPU wait",
    r"\b[Rr]un[- ]queue\b": "waited for a processor",
    r"\bunder way\b": "in flight, running",
    r"\banew\b": "again",
    r"\bwould settle\b": "gives p99 an upper limit",
    r"\b(?:upper|lower) end\b": "upper limit, lower limit",
    r"\blay(?:s|ing)? out\b": "fill",
    r"\bnot told (?:apart|from)\b": "fits as well as",
    r"\bresembles? (?:each|one)\b": "cluster, are correlated",
    r"\bof its own accord\b": "leave it out",
    r"\bspeaks against\b": "no sign of",
    r"\bbeside\b": "next to, with",
    r"\bbehind\b(?! a (?:lock|proxy|firewall))": "after",
    r"\bin place of\b": "instead of",
    r"\brests? on\b": "relies on, needs",
    r"\bfor good\b": "permanently",
    r"\bwas told\b": "a noun",
    r"\bwhole of\b": "all of",
    r"\bwhat is common to\b": "name it",
    r"\bof somebody else\b": "of another user",
    r"\bthere is not\b": "leave it out",
}
# Never on a first screen: names of tests, letters of the statistics, blanks within or after a number.
NOT_ON_A_SCREEN = (
    r"\btau\b|\b(?:Vuong|Anderson|Ljung|Pettitt|Kruskal|AIC)\b|\bAU?²|[ατξμσθρ]|\blag-?\d",
    r"\binterquartile\b|\beffective\b|\bn_eff\b",
    r"(?<![A-Za-z])\b\d{1,3} \d{3}\b(?! ?(?:[num]?s|µs|[KMGT]i?B)\b)|\d %",
)
# The note below the table of groups names a test.
NAMES_A_TEST = {"fit-groups"}
SCREENS = sorted(
    path
    for path in (ROOT / "tests/terminal/screens").glob("*.txt")
    if not path.stem.endswith("-verbose") and path.stem not in NAMES_A_TEST
)
# Their numbers are replaced, and their lines joined.
MASKED = {"ab", "import", "mem", "record", "record-fails", "run-wrong-data"}
# Screens that are no answer: a list of programs, a plan, the help, all mistakes of a program.
LONGER = {"check-mistakes", "experiments", "explain", "help", "run-dry"}

# Their tables are made by the code, or hold the labels of its screens.
TABLES_OF_THE_CODE = {"docs/formats.md", "docs/statistics-calibration.md"}


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs and items of lists, each with its first line, without code, tables and headings, whose cells are no sentences."""
    lines: list[str] = []
    first, code = 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        item = re.match(r"\s*(?:[-*]|\d+\.) ", line)
        if lines and (code or fence or item or not line.strip() or line.startswith(("|", "#", "<!--"))):
            yield first, " ".join(lines)
            lines = []
        if fence:
            code = not code
        elif line.strip() and not code and not line.startswith(("|", "#", "<!--")):
            first = first if lines else number
            lines.append(line.strip())


def plain(paragraph: str) -> str:
    """A paragraph in which each piece of code, quotation and link is one word."""
    return re.sub(r'`[^`]*`|"[^"]*"|“[^”]*”|\[[^]]*\]\([^)]*\)', "X", paragraph)


def turns(line: int, words: str) -> Iterator[str]:
    for turn, better in INSTEAD.items():
        if stumbled := re.search(turn, words):
            yield f"line {line}: “{stumbled[0]}”: write “{better}”"


def screens(text: str) -> Iterator[str]:
    """Blocks of `text` that are no first screen: too wide, or too tall."""
    for block in re.finditer(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        line, lines = text[: block.start()].count("\n") + 1, block[1].splitlines()
        if len(lines) > LINES_OF_A_SCREEN:
            yield f"line {line}: {len(lines)} lines"
        yield from (f"line {line}: {len(wide)} columns: {wide}" for wide in lines if len(wide) > COLUMNS_OF_A_SCREEN)


def complaints(text: str, *, tables: bool = True) -> list[str]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if tables and line.startswith(("|", "#")):
            found += turns(number, plain(line))
    for line, paragraph in paragraphs(text):
        words = plain(paragraph)
        found += turns(line, words)
        for sentence in re.split(r"(?<=[.:;?!·])\s", words):
            if (length := len(sentence.split())) > WORDS_OF_A_SENTENCE:
                found.append(f"line {line}: {length} words: {sentence[:70]} …")
    return [*found, *screens(text)]


def shown(screen: str) -> Iterator[tuple[int, list[str]]]:
    """What terminals of 60 and 80 columns show, with that width."""
    for part in re.split(r"^=== ", screen, flags=re.MULTILINE)[1:]:
        head, body = part.split("\n", 1)
        if head in ("60 columns", "80 columns"):
            yield int(head[:2]), body.rstrip("\n").split("\n")


def complaints_of_a_screen(columns: int, lines: list[str], *, masked: bool = False, longer: bool = False) -> list[str]:
    """Turns are looked for across the ends of lines, too."""
    found = [*turns(1, " ".join(line.strip() for line in lines))]
    for number, line in enumerate(lines, 1):
        found += [f"line {number}: {said[0]}" for pattern in NOT_ON_A_SCREEN if (said := re.search(pattern, line))]
        if len(line) > columns and not masked:
            found.append(f"line {number}: {len(line)} columns: {line}")
    if columns == COLUMNS_OF_A_SCREEN and len(lines) > LINES_OF_A_SCREEN and not longer:
        found.append(f"{len(lines)} lines")
    return found


@pytest.mark.parametrize("screen", SCREENS, ids=lambda path: path.stem)
def test_a_first_screen_is_in_plain_words(screen: Path) -> None:
    seen = list(shown(screen.read_text()))
    assert [columns for columns, _ in seen] == [60, 80]
    for columns, lines in seen:
        found = complaints_of_a_screen(columns, lines, masked=screen.stem in MASKED, longer=screen.stem in LONGER)
        assert found == [], "\n".join([f"{screen.stem} at {columns} columns", *found])


def test_a_bad_screen_is_found() -> None:
    for line, complaint in [
        ("27.5 ms is due\nonce in 1,600 steps", "due once"),
        ("a trend (tau -0.26)", "tau"),
        ("1 090 writes/s", "1 090"),
        ("5 % slower", "5 %"),
        ("x" * 81, "81 columns"),
        ("x\n" * 24 + "x", "25 lines"),
    ]:
        (found,) = complaints_of_a_screen(80, line.split("\n"))
        assert complaint in found


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_in_plain_words(page: str) -> None:
    found = complaints((ROOT / page).read_text(), tables=page not in TABLES_OF_THE_CODE)
    assert found == [], "\n".join([page, *found])


def test_a_change_is_one_short_line() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text().splitlines()
    assert len(changes) > 100
    long = [line for line in changes if len(line) >= CHARACTERS_OF_A_CHANGE]
    assert long == [], "\n".join(long)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/howto/")])
def test_a_task_is_explained_on_one_page(page: str) -> None:
    assert len((ROOT / page).read_text().splitlines()) <= LINES_OF_A_TASK


def test_the_map_for_engineers_stays_short() -> None:
    assert (ROOT / "ARCHITECTURE.md").stat().st_size <= BYTES_OF_THE_MAP


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        ("The slow ones are caught.", "slow ones"),
        ("- The file is kept beside\n  the page.", "beside"),
        ("| a | table |\n\nNine of them\ncome together here.", "come together"),
        ("| row | kept beside it |", "beside"),
        ("```text\nbeside\n```\nIt was told at once.", "was told"),
        ("```text\n" + "x" * 81 + "\n```\n", "81 columns"),
        ("```text\n" + "x\n" * 25 + "```\n", "25 lines"),
        ("A short one. " + "word " * 29 + "end.", "30 words"),
        (f"[a link]({'x' * 99}) " + "word " * 28, "29 words"),
    ],
)
def test_a_bad_sentence_is_found(bad: str, complaint: str) -> None:
    (found,) = complaints(bad)
    assert complaint in found


@pytest.mark.parametrize(
    "good",
    [
        "The slow writes cluster.",
        "`lastrank` quotes \"slow ones\" and [beside](behind.md).",
        "```text\nThe slow ones lay out beside\n```",
        "```console\n" + "x" * 200 + "\n```\n",
        "word " * 27 + "end; " + "word " * 27 + "end.",
        "# Words\n\n| `beside` |\n|---|\n| " + "word " * 40 + "|",
    ],
)
def test_code_quotations_and_short_sentences_pass(good: str) -> None:
    assert complaints(good) == []
