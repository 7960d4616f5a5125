"use strict";
// Draws each chart when it comes into view, or in an idle moment, in the page's colours, and marks where the reader is.
// Of cells and of courses over time, means over what is in view are drawn: zooming in shows more.
(() => {
  const MOST = 240; // means across a chart
  const LEVELS = 65535;
  const FIRST = "#8c959f";
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const charts = [...document.querySelectorAll(".area")];
  const described = (chart) => JSON.parse(chart.parentElement.querySelector("script").textContent);

  const inflated = (packed) => {
    const letters = atob(packed);
    const bytes = new Uint8Array(letters.length);
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = letters.charCodeAt(at);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
  };
  const numbers = async (Type, packed) => new Type(await inflated(packed).arrayBuffer());
  // The library takes most of the time until the first chart, so it is loaded before charts are laid out.
  const load = async () => {
    const script = document.createElement("script");
    script.textContent = await inflated(document.getElementById("library").textContent).text();
    document.head.append(script);
  };
  const loaded = charts.length ? load() : undefined;
  const position = (value) => (typeof value === "string" ? Date.parse(`${value.replace(" ", "T")}Z`) : value);
  // Which columns are in view, how many of them make a mean, and how many means there are.
  const binning = ({ first, width, columns }, range) => {
    const [low, high] = range ? range.map(position) : [-Infinity, Infinity];
    const from = Math.min(Math.max(Math.floor((low - first) / width), 0), columns - 1);
    const until = Math.max(Math.min(Math.ceil((high - first) / width), columns), from + 1);
    const each = Math.ceil((until - from) / MOST);
    return { from, each, count: Math.ceil((until - from) / each), until };
  };
  const mean = (values, begin, end) => {
    let sum = 0;
    for (let at = begin; at < end; at += 1) sum += values[at];
    return sum / (end - begin);
  };
  const means = (values, { from, each, count, until }, offset = 0) =>
    Array.from({ length: count }, (_, at) =>
      mean(values, offset + from + at * each, offset + Math.min(from + (at + 1) * each, until)),
    );

  const scaled = {
    linear: (value, end) => value / end,
    log1p: (value, end) => Math.log1p(value) / Math.log1p(end),
    log: (value, end) => Math.log(Math.max(value, 0.1) / 0.1) / Math.log(end / 0.1),
  };
  const written = (value, percent) =>
    percent ? `${(100 * value).toPrecision(3)} %` : value.toLocaleString("en", { maximumSignificantDigits: 3 });

  const kinds = {
    bars: async ({ data }) => () => [data],
    cells: async ({ data }) => {
      const values = await numbers(Uint8Array, data.packed);
      return (range) => {
        const bins = binning(data, range);
        const step = bins.each * data.width;
        return [
          {
            type: "heatmap",
            z: Array.from({ length: data.rows }, (_, row) => means(values, bins, row * data.columns)),
            x0: data.first + bins.from * data.width + step / 2,
            dx: step,
            y0: data.y0,
            dy: data.dy,
            zmin: 0,
            zmax: 100,
            colorscale: [[0, colour("--none")], [1, colour("--accent")]],
            colorbar: { title: { text: data.title, side: "right" }, thickness: 12, outlinewidth: 0 },
            hovertemplate: "%{x}, node %{y}: %{z:.0f} %<extra></extra>",
          },
        ];
      };
    },
    courses: async ({ data }) => {
      const series = await Promise.all(
        data.series.map(async (each) => ({ ...each, values: await numbers(Uint16Array, each.packed) })),
      );
      const line = (each, bins, place, own) => {
        const found = means(each.values, bins).map((value) => (value / LEVELS) * each.top);
        const step = bins.each * data.width;
        const before = data.first + bins.from * data.width;
        return {
          type: "scatter",
          mode: "lines",
          name: each.name,
          x: found.map((_, at) => before + (at + 0.5) * step),
          y: found.map((value) => scaled[data.scale](value, data.end)),
          yaxis: place ? `y${place + 1}` : "y",
          line: { shape: "hvh", width: own ? 1.3 : 0.9, color: own ? each.colour : FIRST },
          ...(own
            ? {
                fill: "tozeroy",
                fillcolor: `${each.colour}33`,
                text: found.map((value) => written(value, data.percent)),
                hovertemplate: "%{text}<extra>%{fullData.name}</extra>",
              }
            : { hoverinfo: "skip" }),
        };
      };
      return (range) => {
        const bins = binning(data, range);
        return series.flatMap((each, place) => [
          ...(place ? [line(series[0], bins, place, false)] : []),
          line(each, bins, place, true),
        ]);
      };
    },
  };

  const axis = (own) => ({
    ...own,
    gridcolor: colour("--line"),
    linecolor: colour("--ink"),
    zeroline: false,
    showline: true,
    automargin: true,
  });
  const names = (data, own) =>
    (data.series ?? []).map(({ name }, place) => ({
      text: name,
      xref: "paper",
      yref: "paper",
      x: 0.004,
      y: own[place ? `yaxis${place + 1}` : "yaxis"].domain[1],
      xanchor: "left",
      yanchor: "bottom",
      showarrow: false,
      font: { size: 12, color: colour("--ink") },
    }));
  const layout = ({ kind, data, layout: own }) => ({
    ...Object.fromEntries(Object.entries(own).map(([name, each]) => [name, axis(each)])),
    xaxis: { ...axis(own.xaxis), ticks: "outside", ...(kind === "courses" ? { anchor: "free", position: 0 } : {}) },
    ...(kind === "courses" ? {} : { yaxis: { ...axis(own.yaxis), ticks: "outside", showgrid: false } }),
    annotations: names(data, own),
    barmode: "overlay",
    bargap: 0,
    showlegend: false,
    hovermode: "closest",
    dragmode: "zoom",
    margin: { l: 50, r: 10, t: 18, b: 45 },
    font: { family: "system-ui, sans-serif", size: 13, color: colour("--ink") },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--quiet"), activecolor: colour("--accent") },
    hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
  });
  const options = {
    responsive: true,
    displaylogo: false,
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  // Explanations are packed together, and unpacked when the first one is asked for.
  const explain = async (panel, job) => {
    panel.answers ??= inflated(panel.querySelector("script").textContent).json();
    panel.querySelector("input").value = job;
    const answer = (await panel.answers)[job];
    const shown = panel.querySelector(".answer");
    if (answer) shown.innerHTML = answer;
    else shown.textContent = `Job ${job} ${panel.dataset.missing}`;
    panel.scrollIntoView({ block: "nearest" });
  };
  document.querySelectorAll(".why").forEach((panel) => {
    const number = panel.querySelector("input");
    number.addEventListener("change", () => number.value && explain(panel, number.value));
    const buttons = panel.closest("section").querySelectorAll("button[data-job]");
    buttons.forEach((button) => button.addEventListener("click", () => explain(panel, button.dataset.job)));
  });

  const draw = async (chart) => {
    chart.dataset.drawn = "begun";
    const spec = described(chart);
    const [traces] = await Promise.all([kinds[spec.kind](spec), loaded]);
    const shown = layout(spec);
    await Plotly.react(chart, traces(shown.xaxis.range), shown, options);
    chart.dataset.drawn = "yes";
    if (chart.dataset.heard) return;
    chart.dataset.heard = "yes";
    if (spec.kind === "bars") {
      const panel = chart.closest("section").querySelector(".why");
      if (panel) chart.on("plotly_click", ({ points }) => explain(panel, points[0].customdata));
      return;
    }
    chart.on("plotly_relayout", (change) => {
      if (!Object.keys(change).some((name) => name.startsWith("xaxis"))) return;
      const now = chart.layout;
      if (now.xaxis.autorange) now.xaxis = { ...now.xaxis, autorange: false, range: shown.xaxis.range };
      Plotly.react(chart, traces(now.xaxis.range), now, options);
    });
  };
  const undrawn = () => charts.filter((chart) => !chart.dataset.drawn);

  const near = new IntersectionObserver(
    (entries) =>
      entries
        .filter((entry) => entry.isIntersecting && !entry.target.dataset.drawn)
        .forEach((entry) => draw(entry.target)),
    { rootMargin: "400px" },
  );
  charts.forEach((chart) => near.observe(chart));
  const drawNext = () => {
    const [chart] = undrawn();
    if (chart) draw(chart).then(() => setTimeout(drawNext, 50));
  };
  window.addEventListener("load", () => setTimeout(drawNext, 200));
  window.addEventListener("beforeprint", () => undrawn().forEach(draw));
  window
    .matchMedia("(prefers-color-scheme: dark)")
    .addEventListener("change", () => charts.filter((chart) => chart.dataset.drawn === "yes").forEach(draw));

  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const here = new IntersectionObserver(
    (entries) =>
      entries
        .filter((entry) => entry.isIntersecting)
        .forEach((entry) => {
          links.forEach((link) => link.removeAttribute("aria-current"));
          links.get(entry.target.id)?.setAttribute("aria-current", "true");
        }),
    { rootMargin: "-10% 0px -80% 0px" },
  );
  document.querySelectorAll("main > section").forEach((section) => here.observe(section));
})();
