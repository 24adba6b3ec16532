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

  // Letters on paper are as small as the text around the figure, so that they leave its frame to the data.
  const letters = (size) => (root.classList.contains("printing") ? size - 3 : size);

  const axis = (from) => ({
    ...from,
    gridcolor: colour("--grid"),
    linecolor: colour("--line"),
    tickcolor: colour("--line"),
    title: { ...from.title, font: { color: colour("--soft"), size: letters(13) } },
    tickfont: { color: colour("--soft"), size: letters(12) },
  });

  // The title of an upright axis in lines that are no longer than the axis.
  const upright = (from, height) => {
    const most = Math.max(12, Math.floor((height - 70) / 7.5));
    const lines = [""];
    for (const word of (from.title?.text ?? "").split(" ")) {
      const line = lines[lines.length - 1];
      if (line && line.length + word.length >= most) lines.push(word);
      else lines[lines.length - 1] = line ? `${line} ${word}` : word;
    }
    return { ...from, title: { ...from.title, text: lines.join("<br>") } };
  };

  // Names of rows; in a narrow frame their beginnings and ends, so that the data have the larger part of it.
  const NAME = 20;
  const names = (from, data) =>
    from.yaxis?.type === "category" ? [...new Set(data.flatMap((trace) => trace.y).filter((name) => typeof name === "string"))] : [];
  const shortened = (name, narrow) => (narrow && name.length > NAME ? `${name.slice(0, 9)}…${name.slice(-(NAME - 10))}` : name);
  const rows = (from, data, narrow) => {
    const all = narrow ? names(from, data) : [];
    const short = { tickmode: "array", tickvals: all, ticktext: all.map((name) => shortened(name, narrow)) };
    return all.length > 0 ? { ...from.yaxis, ...short } : (from.yaxis ?? {});
  };

  // The lower axis beside these names: its title in lines that fit, and of its numbers those that do not touch.
  const along = (from, data, narrow, width) => {
    const longest = Math.max(0, ...names(from, data).map((name) => shortened(name, narrow).length));
    const room = width - 30 - 6.5 * longest;
    const given = from.xaxis ?? {};
    const step = Math.ceil(((given.tickvals ?? []).length * 40) / Math.max(40, room));
    const apart = (list) => list.filter((_, at) => at % step === 0);
    const fewer = narrow && step > 1 ? { tickvals: apart(given.tickvals), ticktext: apart(given.ticktext), tickangle: 0 } : {};
    return upright({ ...given, ...fewer }, room + 30);
  };

  const layout = (from, data, narrow, width, height) => ({
    ...from,
    title: undefined,
    font: { family: getComputedStyle(document.body).fontFamily, color: colour("--ink"), size: letters(13) },
    margin: { ...from.margin, l: narrow ? 48 : from.margin.l, r: narrow ? 8 : from.margin.r, t: from.showlegend === false ? 14 : 38 },
    legend: { ...from.legend, font: { color: colour("--soft"), size: letters(12) }, bgcolor: "rgba(0,0,0,0)" },
    hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink"), size: letters(13) } },
    annotations: (from.annotations ?? []).map((note) => ({ ...note, font: { color: colour("--soft"), size: letters(12) } })),
    xaxis: axis(along(from, data, width < 420, width)),
    yaxis: axis(upright(rows(from, data, width < 420), height)),
  });

  // Panels of the same axes in as many columns as there is room for: numbers at the outer axes alone, whose titles stand once.
  const PANEL = 185;
  const ROW = 138;
  const places = (from) => Object.keys(from).filter((name) => name.startsWith("xaxis")).length;
  const columns = (from, width) => Math.max(2, Math.min(6, places(from), Math.floor((width - 60) / PANEL)));
  const panels = (from, data, width) => {
    const count = places(from);
    const across = columns(from, width);
    const rows = Math.ceil(count / across);
    const [above, below] = [76, 46];
    const height = rows * ROW + above + below;
    const small = (given, shows) => ({ ...axis(given), title: undefined, showticklabels: shows, automargin: false, tickfont: { color: colour("--soft"), size: letters(10) } });
    const grid = { ...from.grid, rows, columns: across, xgap: 0.1, ygap: 0.36 };
    const made = { ...layout(from, data, false, width, height), grid, height, margin: { l: 72, r: 8, t: above, b: below } };
    // Decades between numbers that do not touch each other.
    const decades = (given, most) => Math.ceil((given.range[1] - given.range[0]) / Math.max(1, most));
    const steps = [decades(from.xaxis, (0.9 * (width - 80)) / across / 34), decades(from.yaxis, 3)];
    for (let at = 0; at < count; at += 1) {
      const number = at === 0 ? "" : at + 1;
      made[`xaxis${number}`] = { ...small(from[`xaxis${number}`], at + across >= count), dtick: steps[0], tickangle: 0 };
      made[`yaxis${number}`] = { ...small(from[`yaxis${number}`], at % across === 0), dtick: steps[1] };
    }
    const title = (more, text) => ({ text, showarrow: false, xref: "paper", yref: "paper", font: { color: colour("--soft"), size: letters(13) }, ...more });
    // Name and median in two lines; where they do not fit the name alone, or its beginning and its end.
    const room = Math.floor((0.9 * (width - 80)) / across / 6);
    const wrapped = (text) => upright({ title: { text } }, 7.5 * (room + 1) + 70).title.text.split("<br>");
    const name = (text) => {
      const lines = [text, text.replace(/, [^,]*$/, "")].map(wrapped);
      const [fits] = lines.filter((some) => some.length <= 2);
      return (fits ?? [`${lines[1][0]} …`, lines[1].at(-1)]).join("<br>");
    };
    made.annotations = made.annotations.map((note) => ({ ...note, text: name(note.text), align: "left", font: { ...note.font, size: letters(11) } })).concat([
      title({ x: 0.5, y: 0, yshift: -26, xanchor: "center", yanchor: "top" }, from.xaxis.title.text),
      title({ x: 0, y: 0.5, xshift: -70, xanchor: "left", yanchor: "middle", textangle: -90 }, from.yaxis.title.text),
    ]);
    made.legend = { ...made.legend, y: 1 + 36 / (rows * ROW) };
    return made;
  };
  const isOfPanels = (figure) => figure.plot.layout.grid !== undefined;

  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: false,
    showTips: false,
    doubleClick: "reset",
  };

  const place = (figure) => document.getElementById("plot-" + figure.id);

  // On paper in the size of its frame, which a resize would find too late.
  const draw = (figure) => {
    drawn.add(figure);
    const frame = place(figure);
    const paper = root.classList.contains("printing");
    const own = isOfPanels(figure) ? panels(figure.plot.layout, figure.plot.data, frame.clientWidth) : null;
    if (own) frame.style.height = `${own.height}px`;
    // A legend that takes a line for each of its names would leave no room for rows.
    const legend = figure.plot.data.filter((trace) => trace.name && trace.showlegend !== false).length;
    const high = figure.plot.layout.height;
    if (!own && high) frame.style.height = `${high + (frame.clientWidth < 420 ? 19 * legend : 0)}px`;
    const size = paper ? { autosize: false, width: frame.clientWidth, height: frame.clientHeight } : high ? { height: frame.clientHeight } : {};
    const drawing = { ...(own ?? layout(figure.plot.layout, figure.plot.data, paper || innerWidth < 600, frame.clientWidth, frame.clientHeight)), ...size };
    Plotly.react(frame, figure.plot.data, drawing, { ...config, responsive: !paper });
    // Paper of another width takes the whole of it smaller or larger, and cuts nothing.
    for (const svg of frame.querySelectorAll(".main-svg")) {
      svg.setAttribute("viewBox", `0 0 ${frame.clientWidth} ${frame.clientHeight}`);
    }
  };

  // A file of a figure: on white, with its title.
  const save = (figure, format) => {
    const theme = root.dataset.theme;
    root.dataset.theme = "light";
    const frame = place(figure).getBoundingClientRect();
    const light = isOfPanels(figure) ? panels(figure.plot.layout, figure.plot.data, frame.width) : layout(figure.plot.layout, figure.plot.data, false, frame.width, frame.height);
    root.dataset.theme = theme;
    const size = { width: Math.max(640, Math.round(frame.width)), height: Math.round(frame.height) + 40 };
    const title = { text: figure.plot.layout.title?.text, x: 0.02, xanchor: "left", y: 0.98, yanchor: "top", font: { size: 15 } };
    const margin = { ...light.margin, t: light.margin.t + 40 };
    const drawing = { ...light, ...size, title, margin, autosize: false, paper_bgcolor: "#fff", plot_bgcolor: "#fff" };
    const data = structuredClone(figure.plot.data);
    return Plotly.downloadImage({ data, layout: drawing }, { ...size, format, filename: figure.id, scale: format === "png" ? 2 : 1 });
  };
  for (const figure of figures) {
    const buttons = document.createElement("span");
    buttons.className = "save";
    for (const format of ["png", "svg"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = format.toUpperCase();
      button.title = `Save this figure as ${format.toUpperCase()}`;
      button.addEventListener("click", () => save(figure, format));
      buttons.append(button);
    }
    place(figure).before(buttons);
  }

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
