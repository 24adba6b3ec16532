"""Figures for print: every figure of a page draws with the numbers of the page, and `fit -o FILE.pdf` writes one.

The drawing files need nothing of the compiled module, so they are loaded here as a package of their own.
"""

import importlib
import json
import re
import subprocess
import sys
import types
import warnings
import zlib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed (tests/all.py installs it)")
from matplotlib import get_configdir  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "python" / "lastrank"
PATIENCE = 120


def load(name: str) -> Any:
    package = sys.modules.setdefault("drawn", types.ModuleType("drawn"))
    package.__path__ = [str(SOURCES)]
    return importlib.import_module(f"drawn.{name}")


plot, style, axes = load("_plot"), load("_plot_style"), load("_plot_axes")


def lastrank(program: Path, folder: Path, *arguments: str) -> str:
    command = [program, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory, program: Path) -> Path:
    """A folder with a run that was drawn from a distribution, its document, and that of its fit."""
    folder = tmp_path_factory.mktemp("plot")
    law = "simulate:gev(10ms,300us,0.05)"
    run = ["run", "parallel_write", "--backend", law, "--set", "targets=4", "--set", "repeat=260", "--report", "none"]
    (folder / "run.json").write_text(lastrank(program, folder, *run, "-o", "run.parquet", "--json", "--with", "figures"))
    (folder / "fit.json").write_text(lastrank(program, folder, "fit", "run.parquet", "--json", "--figures"))
    return folder


@pytest.fixture(scope="session")
def run(measured: Path) -> dict[str, Any]:
    return json.loads((measured / "run.json").read_text())


@pytest.fixture(scope="session")
def fit(measured: Path) -> dict[str, Any]:
    return json.loads((measured / "fit.json").read_text())


def figures(source: dict[str, Any]) -> list[dict[str, Any]]:
    return source.get("figures", []) + [figure for chapter in source.get("chapters", []) for figure in chapter["figures"]]


def finite(values: list[Any]) -> list[float]:
    return [value for value in values if value is not None]


@pytest.mark.parametrize("name", ["run", "fit"])
def test_every_figure_of_a_page_draws_its_own_numbers(name: str, request: pytest.FixtureRequest) -> None:
    source = request.getfixturevalue(name)
    assert len(plot.kinds(source)) >= 9
    for figure in figures(source):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = plot.figure(source, figure["id"])
            made.canvas.draw()
        [ax] = made.axes
        drawn = {tuple(line.get_xdata()) for line in ax.get_lines()}
        for trace in figure["plot"]["data"]:
            values = trace["x"]
            plain = trace["type"] == "scatter" and trace.get("line", {}).get("width") != 0 and None not in values
            if plain and not any(isinstance(value, str) for value in values):
                assert tuple(values) in drawn, f"{figure['id']}: {trace.get('name')}"
        bars = [trace for trace in figure["plot"]["data"] if trace["type"] == "bar"]
        assert len(ax.patches) == sum(len(trace["x"]) for trace in bars), figure["id"]
        assert ax.get_xlabel() == figure["plot"]["layout"]["xaxis"]["title"]["text"].replace("\u202f", "\u2009")


def test_a_figure_of_many_panels_has_axes_for_each(measured: Path, program: Path) -> None:
    (measured / "many.ppl").write_text(
        'define report {"show": "normal"};\n' + "".join(f'repeat 200 time["p{at}"] {{ getpid(); }}\n' for at in range(6))
    )
    law = ("--backend", "simulate:gev(10ms,300us,0.05)", "--report", "none")
    found = json.loads(lastrank(program, measured, "run", "many.ppl", *law, "--json", "--with", "figures", "-o", "many.parquet"))
    made = plot.figure(found, "normal", columns=2)
    made.canvas.draw()
    assert [ax.get_title(loc="left").split(" / ")[0] for ax in made.axes] == [f"p{at}" for at in range(6)]
    assert all(len(ax.get_lines()) == 2 for ax in made.axes)
    assert len({ax.get_xlim() for ax in made.axes}) == 1, "tails are compared on the same axis"
    with pytest.raises(ValueError, match="6 panels"):
        plot.draw(found, "normal", ax=made.axes[0])


def test_a_figure_goes_by_its_names(fit: dict[str, Any], run: dict[str, Any]) -> None:
    label = plot.figure(fit, "return_levels").axes[0].get_xlabel()
    assert plot.figure(fit, "return-levels").axes[0].get_xlabel() == label == "exceeded once in …"
    assert plot.figure(fit, "qq").axes[0].get_xlabel().startswith("fitted quantile")
    # A name at the end of an id, of a later analysis of the run.
    assert "share" in plot.figure(run, "far_tail").axes[0].get_ylabel()
    assert len(plot.figure(fit, "diagnostic").axes) == 4
    assert set(plot.KINDS) >= {"diagnostic", *plot.PANELS}
    for kind in plot.PANELS:
        assert kind in plot.kinds(fit)


def test_what_cannot_be_drawn_is_named_with_what_can(fit: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no figure 'pie'; there are .*return_levels"):
        plot.figure(fit, "pie")
    with pytest.raises(ValueError, match="--figures"):
        plot.figure({"schema": "lastrank.fit/1"}, "density")
    with pytest.raises(ValueError, match="acm, ieee, elsevier, or a number of inches"):
        plot.figure(fit, "density", width="nature")
    for width in ("ieee:3", "0.2", "inf", "nan"):
        with pytest.raises(ValueError, match=width):
            plot.figure(fit, "density", width=width)
    with pytest.raises(ValueError, match="sans, serif"):
        plot.figure(fit, "density", fonts="comic")
    with pytest.raises(ValueError, match=r"\.pdf, \.svg or \.png"):
        plot.save(fit, "density", "figure.eps")
    with pytest.raises(ValueError, match="four panels"):
        plot.draw(fit, "diagnostic", ax=plot.figure(fit, "density").axes[0])


def test_it_draws_on_axes_of_the_user_and_leaves_his_settings_alone(fit: dict[str, Any]) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    before = dict(matplotlib.rcParams)
    ax = Figure().subplots()
    assert plot.draw(fit, "density", ax=ax) is ax
    assert ax.get_ylabel() == "density (1/ms)"
    plot.figure(fit, "density", fonts="serif")
    assert dict(matplotlib.rcParams) == before


def test_the_same_figure_gives_the_same_bytes(fit: dict[str, Any], measured: Path) -> None:
    script = """
import importlib, sys, types
package = sys.modules["other"] = types.ModuleType("other")
package.__path__ = [sys.argv[1]]
plot = importlib.import_module("other._plot")
for form in ("pdf", "svg", "png"):
    assert plot.main(["fit.json", "return_levels", f"there.{form}"]) == 0
"""
    subprocess.run([sys.executable, "-c", script, SOURCES], cwd=measured, check=True, timeout=PATIENCE)
    for form in ("pdf", "svg", "png"):
        here = plot.save(fit, "return_levels", measured / f"here.{form}")
        assert (measured / f"there.{form}").read_bytes() == here.read_bytes(), form
    assert not list(measured.glob(".*.partial"))


def pages_of(pdf: bytes) -> list[tuple[float, ...]]:
    return [tuple(float(number) for number in box.split()) for box in re.findall(rb"/MediaBox \[ ([^]]*) \]", pdf)]


@pytest.mark.parametrize(
    ("width", "columns", "inches"),
    [("acm", 1, 3.33), ("acm", 2, 7.0), ("ieee", 1, 3.5), ("ieee:2", None, 7.16), ("elsevier", 1, 3.54), (5.5, None, 5.5)],
)
def test_a_pdf_is_as_wide_as_the_column(width: Any, columns: Any, inches: float, fit: dict[str, Any], tmp_path: Path) -> None:
    written = plot.save(fit, "return_levels", tmp_path / "figure.pdf", width=width, columns=columns).read_bytes()
    [(_, _, wide, high)] = pages_of(written)
    assert wide == pytest.approx(72 * inches, abs=0.01)
    assert 0.3 * wide < high < wide


@pytest.mark.parametrize("fonts", ["sans", "serif"])
def test_text_is_text(fonts: str, fit: dict[str, Any], tmp_path: Path) -> None:
    pdf = plot.save(fit, "survival", tmp_path / "figure.pdf", fonts=fonts).read_bytes()
    assert b"/FontFile2" in pdf, "embedded TrueType"
    assert b"/Type3" not in pdf, "journals refuse Type 3 fonts"
    streams = [zlib.decompress(stream) for stream in re.findall(rb"stream\r?\n(x.*?)\r?\nendstream", pdf, re.DOTALL)]
    assert any(b"BT" in stream and b"Tf" in stream for stream in streams)
    svg = plot.save(fit, "survival", tmp_path / "figure.svg", fonts=fonts).read_text()
    assert re.search(r"<text[^>]*>share that takes longer</text>", svg)


def lightness(colour: str) -> float:
    """L* of a colour, from sRGB."""
    linear = [((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))]
    y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def test_colours_survive_grey_print_and_differ_in_dash_or_marker() -> None:
    first = [lightness(each.colour) for each in style.ORDER[:3]]
    assert first == sorted(first) and min(b - a for a, b in zip(first, first[1:], strict=False)) > 20
    assert all(lightness(each.colour) < 80 for each in style.ORDER), "no yellow lines"
    assert len({each.marker for each in style.ORDER}) == len({each.colour for each in style.ORDER}) == len(style.ORDER)
    # A family of many curves: every one has a colour of its own, from dark to light.
    many = style.Palette([f"#{at:06x}" for at in range(1, 13)]).styles
    shades = [lightness(many[f"#{at:06x}"].colour) for at in range(1, 13)]
    assert shades == sorted(shades) and len(set(shades)) == 12


@pytest.mark.parametrize("count", [3, 5, 7])
def test_curves_beside_each_other_differ_without_their_colour(count: int) -> None:
    # The page draws files dashed and memory solid; in grey print that would leave half of them alike.
    data = [
        {"type": "scatter", "mode": "lines", "name": f"curve {at}", "x": [1, 2, 3], "y": [at, at, at + 1],
         "line": {"color": colour, "width": 2, "dash": "dash" if at % 2 else "solid"}}
        for at, colour in enumerate(list(style.ROLES)[:count])
    ]  # fmt: skip
    source = {"figures": [{"id": "curves", "title": "curves", "numbers": {"kind": "curves"}, "plot": {"data": data, "layout": {}}}]}
    lines = plot.figure(source, "curves").axes[0].get_lines()
    assert len({line.get_marker() for line in lines}) == count


def test_names_with_dollars_are_no_mathematics(fit: dict[str, Any], tmp_path: Path) -> None:
    source = json.loads(json.dumps(fit))
    for figure in figures(source):
        figure["plot"]["layout"]["yaxis"]["title"]["text"] = "cost of $a and $b_{"
    svg = plot.save(source, "density", tmp_path / "figure.svg").read_text()
    assert "cost of $a and $b_{" in svg


def test_names_of_ticks_do_not_overlap() -> None:
    from matplotlib.figure import Figure

    sizes = [2**at for at in range(10, 30)]
    names = ["0 B", *(f"{size} byte" for size in sizes)]
    with style.settings():
        ax = Figure(figsize=(3.33, 2.2)).subplots()
        ax.set_xscale("log")
        ax.plot(sizes, sizes)
        axes.finish(ax, "x", {"type": "log", "tickvals": [0, *sizes], "ticktext": names})
        ax.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
    assert 2 <= len(boxes) < len(sizes)
    assert all(left.x1 <= right.x0 for left, right in zip(boxes, boxes[1:], strict=False))


def test_an_old_figure_stays_where_the_new_one_fails(fit: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "figure.pdf"
    path.write_text("old")
    with pytest.raises(ValueError, match="no figure"):
        plot.save(fit, "pie", path)
    assert path.read_text() == "old" and [each.name for each in tmp_path.iterdir()] == ["figure.pdf"]
    with pytest.raises(OSError, match="nowhere"):
        plot.save(fit, "density", tmp_path / "nowhere" / "figure.pdf")


def test_a_missing_matplotlib_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, fit: dict[str, Any]) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match="pip install matplotlib"):
        plot.figure(fit, "density")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("", "Expecting value"),
        ("[1]", "figures are drawn of a fit, of a run"),
        ("{}", "has no figures"),
        ('{"figures": [{"id": "a"}]}', "not those of lastrank"),
        ('{"figures": [{"id": "a", "plot": {"data": [{"type": "pie"}]}}]}', "not those of lastrank"),
        ('{"figures": [{"id": "a", "plot": {"data": [{"type": "scatter", "x": 1}]}}]}', "not those of lastrank"),
        ('{"figures": {"a": 1}}', "not those of lastrank"),
        ("\x00", "Expecting value"),
    ],
)
def test_a_document_that_is_none_is_named(document: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "document.json", tmp_path / "a.pdf"
    file.write_text(document)
    assert plot.main([str(file), "a", str(out)]) == 2
    said = capsys.readouterr().err
    assert words in said and said.startswith("error: ") and "Traceback" not in said
    assert not out.exists()


class Shell:
    """A folder with `python3` as the only Python of the PATH, and a command line in it."""

    def __init__(self, program: Path, folder: Path, measured: Path) -> None:
        self.program, self.folder, self.run = program, folder, measured / "run.parquet"
        (folder / "bin").mkdir()

    def python(self, *arguments: str) -> None:
        python = self.folder / "bin" / "python3"
        python.write_text("#!/bin/sh\n" + " ".join(["exec", *arguments]) + "\n")
        python.chmod(0o755)

    def fit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        package = self.folder / "site" / "lastrank"
        if not package.is_dir():
            package.mkdir(parents=True)
            (package / "__init__.py").touch()
            for source in (*SOURCES.glob("_plot*.py"), SOURCES / "_replace.py"):
                (package / source.name).symlink_to(source)
        here = self.folder / "here"
        here.mkdir(exist_ok=True)
        # Names of modules in the current folder, which must not be taken for them.
        for name in ("json.py", "lastrank.py", "matplotlib.py"):
            (here / name).write_text("raise SystemExit('taken from the current folder')\n")
        return subprocess.run(
            [self.program, "fit", self.run, *arguments], cwd=here, capture_output=True, text=True, timeout=PATIENCE,
            env={"PATH": str(self.folder / "bin"), "PYTHONPATH": str(package.parent), "MPLCONFIGDIR": get_configdir()},
        )  # fmt: skip


@pytest.fixture
def shell(program: Path, tmp_path: Path, measured: Path) -> Shell:
    # Beside the program there may be a Python of its own.
    if (program.parent / "python3").exists():
        pytest.skip("the program under test lies beside a Python")
    return Shell(program, tmp_path, measured)


def test_the_command_line_writes_a_figure(shell: Shell) -> None:
    shell.python(sys.executable, '"$@"')
    done = shell.fit("-o", "fit.pdf")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\nFigure: fit.pdf\n")
    [(_, _, wide, _)] = pages_of((shell.folder / "here" / "fit.pdf").read_bytes())
    assert wide == pytest.approx(72 * 7.0, abs=0.01), "four panels take both columns"
    done = shell.fit("-o", "levels.svg", "--figure", "return-levels", "--width", "ieee")
    assert done.returncode == 0, done.stderr
    assert "exceeded once in" in (shell.folder / "here" / "levels.svg").read_text()
    done = shell.fit("-o", "levels.png", "--figure", "pie")
    assert done.returncode == 2
    assert "no figure 'pie'; there are" in done.stderr and "return_levels" in done.stderr
    assert not (shell.folder / "here" / "levels.png").exists()


@pytest.mark.parametrize(
    ("python", "words"),
    [
        ((), "no python3 is on the PATH"),
        (("exit", "42"), "-m pip install matplotlib`"),
        (("exit", "41"), "-m pip install . matplotlib`"),
        (("exit", "1"), "no python3"),
    ],
)
def test_what_is_missing_is_named_before_the_fit(python: tuple[str, ...], words: str, shell: Shell) -> None:
    if python:
        (shell.folder / "bin" / "python3").write_text(f"#!/bin/sh\n{' '.join(python)}\n")
        (shell.folder / "bin" / "python3").chmod(0o755)
    done = shell.fit("-o", "fit.pdf")
    assert done.returncode == 2
    assert words in done.stderr and "--page" in done.stderr and ".html" in done.stderr
    assert done.stdout == ""


def test_options_that_do_not_go_together_are_named(shell: Shell) -> None:
    assert "--figure and --width are for a figure" in shell.fit("-o", "fit.html", "--figure", "density").stderr
    assert "--page writes .pdf or .png" in shell.fit("-o", "fit.svg", "--page").stderr
    assert "--output" in shell.fit("--figure", "density").stderr
    assert "--json" in shell.fit("--figures").stderr


def test_figures_are_in_the_json_where_they_are_asked_for(fit: dict[str, Any], program: Path, measured: Path) -> None:
    assert {"quantiles", "density", "survival"} <= {figure["id"] for figure in fit["figures"]}
    assert "figures" not in json.loads(lastrank(program, measured, "fit", "run.parquet", "--json"))
