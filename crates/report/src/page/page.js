// Draws the figures of the page with the page's own colours, again when these change: those that are
// seen first, the others when nothing else is to do. `#all` at the end of the address opens every chapter.
(() => {
  "use strict";
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const figures = JSON.parse(document.getElementById("figure-data").textContent);
  const drawn = new Set();
  let chosen = null;

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  const axis = (from) => ({
    ...from,
    gridcolor: colour("--grid"),
    linecolor: colour("--line"),
    tickcolor: colour("--line"),
    title: { ...from.title, font: { color: colour("--soft"), size: 13 } },
    tickfont: { color: colour("--soft"), size: 12 },
  });

  const layout = (from, narrow) => ({
    ...from,
    title: undefined,
    font: { family: getComputedStyle(document.body).fontFamily, color: colour("--ink"), size: 13 },
    margin: { ...from.margin, l: narrow ? 48 : from.margin.l, r: narrow ? 8 : from.margin.r, t: from.showlegend === false ? 14 : 38 },
    legend: { ...from.legend, font: { color: colour("--soft"), size: 12 }, bgcolor: "rgba(0,0,0,0)" },
    hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink"), size: 13 } },
    annotations: (from.annotations ?? []).map((note) => ({ ...note, font: { color: colour("--soft"), size: 12 } })),
    xaxis: axis(from.xaxis),
    yaxis: axis(from.yaxis),
  });

  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: false,
    showTips: false,
    doubleClick: "reset",
  };

  const place = (figure) => document.getElementById("plot-" + figure.id);

  const draw = (figure) => {
    drawn.add(figure);
    Plotly.react(place(figure), figure.plot.data, layout(figure.plot.layout, innerWidth < 600), {
      ...config,
      toImageButtonOptions: { filename: figure.id, format: "svg" },
    });
  };

  const shown = (figure) => place(figure).offsetParent !== null;
  const open = (figure) => !drawn.has(figure) && shown(figure);

  // One figure at a time, so that the page can be scrolled and read meanwhile.
  let working = false;
  const work = () => {
    const inView = (figure) => place(figure).getBoundingClientRect().top < innerHeight;
    const waiting = figures.filter(open);
    const next = waiting.find(inView) ?? waiting[0];
    working = next !== undefined;
    if (working) {
      draw(next);
      setTimeout(work, 0);
    }
  };
  const start = () => {
    if (!working) work();
  };

  const theme = () => {
    root.dataset.theme = chosen ?? (dark.matches ? "dark" : "light");
    drawn.clear();
    start();
  };

  const unfold = () => document.querySelectorAll("details").forEach((details) => (details.open = true));
  const follow = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (location.hash === "#all") unfold();
    else if (target && target.tagName === "DETAILS") target.open = true;
    start();
  };

  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    theme();
  });
  document.querySelectorAll("details").forEach((details) => details.addEventListener("toggle", start));
  dark.addEventListener("change", theme);
  addEventListener("hashchange", follow);
  // What is open is printed; `#all` opens everything.
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    root.classList.add("printing");
    figures.filter(shown).forEach(draw);
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    theme();
  });
  follow();
  theme();
})();
