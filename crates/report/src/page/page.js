// Draws the figures of the page with the page's own colours, again when these change.
(() => {
  "use strict";
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const figures = JSON.parse(document.getElementById("figure-data").textContent);
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

  const draw = () => {
    for (const figure of figures) {
      const place = document.getElementById("plot-" + figure.id);
      Plotly.react(place, figure.plot.data, layout(figure.plot.layout, innerWidth < 600), {
        ...config,
        toImageButtonOptions: { filename: figure.id, format: "svg" },
      });
    }
  };

  const theme = () => {
    root.dataset.theme = chosen ?? (dark.matches ? "dark" : "light");
    draw();
  };

  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    theme();
  });
  dark.addEventListener("change", theme);
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    draw();
  });
  addEventListener("afterprint", theme);
  theme();
})();
