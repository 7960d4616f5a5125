"use strict";
// Draws each Gantt chart when it comes into view, or in an idle moment, in the page's colours, and marks where the
// reader is.
(() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const charts = [...document.querySelectorAll(".gantt")];
  const described = (chart) => JSON.parse(chart.parentElement.querySelector("script").textContent);

  const axis = (own) => ({
    ...own,
    gridcolor: colour("--line"),
    linecolor: colour("--ink"),
    zeroline: false,
    showline: true,
    ticks: "outside",
    automargin: true,
  });
  const layout = (own) => ({
    ...own,
    xaxis: axis(own.xaxis),
    yaxis: { ...axis(own.yaxis), showgrid: false },
    barmode: "overlay",
    bargap: 0,
    showlegend: false,
    dragmode: "zoom",
    margin: { l: 50, r: 10, t: 10, b: 45 },
    font: { family: "system-ui, sans-serif", size: 13, color: colour("--ink") },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--quiet"), activecolor: colour("--accent") },
    hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
  });
  const traces = (data) =>
    data.map((trace) =>
      trace.type === "heatmap" ? { ...trace, colorscale: [[0, colour("--none")], [1, colour("--accent")]] } : trace,
    );
  const options = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };

  const draw = (chart) => {
    const { data, layout: own } = described(chart);
    chart.dataset.drawn = "yes";
    return Plotly.react(chart, traces(data), layout(own), options);
  };
  const undrawn = () => charts.filter((chart) => chart.dataset.drawn !== "yes");

  const near = new IntersectionObserver(
    (entries) =>
      entries
        .filter((entry) => entry.isIntersecting && entry.target.dataset.drawn !== "yes")
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
