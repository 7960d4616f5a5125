/* ---- curves ------------------------------------------------------------------------------------------------ */

function takeHistory(news) {
  if (news.generation !== curves.generation || news.start === 0) {
    Object.assign(curves, { generation: news.generation, time: [], queued: [], utilisation: {} });
  }
  // The last point that we have may have been brought up to date: we ask for it again.
  curves.time.length = curves.queued.length = news.start;
  curves.time.push(...news.time);
  curves.queued.push(...news.queued);
  for (const [name, values] of Object.entries(news.utilisation)) {
    const kept = curves.utilisation[name] ??= [];
    kept.length = news.start;
    kept.push(...values);
  }
}

function niceCeiling(number) {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(number, 1)));
  return [1, 2, 4, 5, 10].map(step => step * magnitude).find(step => step >= number) ?? number;
}

function vector(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/* The time that is shown: that of the whole run, unless a part was chosen. */
let chosen = null;

function shownTime() {
  const [begin, end] = chosen ?? [curves.time[0] ?? 0, curves.time.at(-1) ?? 1];
  return [begin, Math.max(end, begin + 1)];
}

/* The points within a time, and the last before it, whose values hold until the next. */
function shownPoints([begin, end]) {
  const after = time => { const index = curves.time.findIndex(each => each > time); return index < 0 ? curves.time.length : index; };
  return [Math.max(after(begin) - 1, 0), after(end)];
}

/* Values hold until the next point: steps. */
function steps(values, [from, until], x, y) {
  let path = "", pen = false;
  for (let index = from; index < until; index++) {
    const value = values[index] ?? null;
    if (value === null) { pen = false; continue; }
    const [left, height] = [x(curves.time[index]).toFixed(1), y(value).toFixed(1)];
    path += pen ? `H${left}V${height}` : `M${left},${height}`;
    pen = true;
  }
  return path;
}

/* Where points are closer than pixels, a curve is of means over equal windows of time, in a band from the least value to the
   greatest: [from, until, mean, least, greatest] of each window that has values. */
const WINDOW = 3, LEFT = 44; // pixels: of a window, and left of all curves

function windowsOf(values, [from, until], begin, end, count) {
  const width = (end - begin) / count, found = [];
  for (let index = from; index < until; index++) {
    const value = values[index] ?? null;
    if (value === null) continue;
    const since = Math.max(curves.time[index], begin), till = Math.min(curves.time[index + 1] ?? end, end);
    let at = Math.min(Math.floor((since - begin) / width), count - 1);
    do {
      const each = found[at] ??= { weight: 0, sum: 0, least: value, greatest: value };
      const weight = Math.max(Math.min(till, begin + (at + 1) * width) - Math.max(since, begin + at * width), 0);
      each.weight += weight;
      each.sum += weight * value;
      each.least = Math.min(each.least, value);
      each.greatest = Math.max(each.greatest, value);
      at += 1;
    } while (at < count && begin + at * width < till);
  }
  return found.flatMap(({ weight, sum, least, greatest }, at) => weight > 0 ? [[begin + at * width, begin + (at + 1) * width, sum / weight, least, greatest]] : []);
}

/* A path along the windows at one of their values: to the right, or back to the left. */
function along(windows, which, x, y, back = false) {
  const [first, last] = back ? [1, 0] : [0, 1];
  const ordered = back ? [...windows].reverse() : windows;
  return ordered.map(each => `L${x(each[first]).toFixed(1)},${y(each[which]).toFixed(1)}H${x(each[last]).toFixed(1)}`).join("").slice(1);
}

function drawWindows(windows, colour, x, y) {
  if (!windows.length) return [];
  const band = `M${along(windows, 4, x, y)}L${along(windows, 3, x, y, true)}Z`;
  return [
    vector("path", { d: band, fill: colour, opacity: .22, class: "band" }),
    vector("path", { d: `M${along(windows, 2, x, y)}`, fill: "none", stroke: colour, "stroke-width": 1.5, class: "curve" }),
  ];
}

function windowCount(svg) {
  const [from, until] = shownPoints(shownTime()), count = Math.floor((svg.clientWidth - LEFT) / WINDOW);
  return until - from > 2 * count && count > 0 ? count : 0;
}

function drawCurves(svg, series, top, label) {
  const width = svg.clientWidth, height = svg.clientHeight, left = LEFT, bottom = height - 18;
  const [begin, end] = shownTime(), points = shownPoints([begin, end]);
  const x = time => left + (width - left) * (Math.max(time, begin) - begin) / (end - begin);
  const y = value => bottom - (bottom - 6) * value / top;
  const parts = [];
  for (const share of [0, .5, 1]) {
    const level = y(share * top);
    parts.push(vector("line", { x1: left, x2: width, y1: level, y2: level, stroke: "var(--line)" }));
    parts.push(vector("text", { x: left - 8, y: level + 4, "text-anchor": "end" }, label(share * top)));
  }
  const ticks = Math.max(2, Math.min(6, Math.floor(width / 180)));
  for (let tick = 0; tick < ticks; tick++) {
    const time = begin + (end - begin) * tick / (ticks - 1);
    const anchor = tick === 0 ? "start" : tick === ticks - 1 ? "end" : "middle";
    const text = run.origin === null || end - begin < 86400 * ticks ? duration(time - run.first) : dated(time, DAY);
    parts.push(vector("text", { x: x(time), y: height - 2, "text-anchor": anchor }, text));
  }
  const count = windowCount(svg);
  for (const [values, colour] of series) {
    if (count) {
      parts.push(...drawWindows(windowsOf(values, points, begin, end, count), colour, x, y));
      continue;
    }
    const path = steps(values, points, x, y);
    if (series.length === 1 && path) {
      parts.push(vector("path", { d: `${path}V${bottom}H${left}Z`, fill: colour, opacity: .14 }));
    }
    parts.push(vector("path", { d: path, fill: "none", stroke: colour, "stroke-width": 1.5, class: "curve" }));
  }
  svg.replaceChildren(...parts);
  svg.timeAt = position => begin + (end - begin) * Math.min(Math.max((position - left) / (width - left), 0), 1);
  svg.pointer = position => shownPoints([svg.timeAt(position), end])[0];
}

/* A part of the time is chosen by drawing over it; a double click shows the whole run again. */
function zoomable(svg) {
  let from = null;
  const place = event => event.clientX - svg.getBoundingClientRect().left;
  svg.onpointerdown = event => { from = place(event); svg.setPointerCapture(event.pointerId); };
  svg.onpointerup = event => {
    const until = place(event);
    if (from !== null && Math.abs(until - from) > 6 && svg.timeAt) show([from, until].sort((one, other) => one - other).map(svg.timeAt));
    from = null;
  };
  svg.ondblclick = () => show(null);
}

function show(time) {
  chosen = time;
  drawCharts();
}

element("whole").onclick = () => show(null);

const seriesColour = index => `var(--series-${index % 4})`;
const usable = () => run.system.resources.map((name, index) => [name, index]).filter(([name]) => run.utilisation[name] !== null);

function drawCharts() {
  element("keys").replaceChildren(...usable().map(([name, index]) => {
    const mark = make("i");
    mark.style.background = seriesColour(index);
    return make("span", { className: "key" }, mark, name);
  }));
  drawCurves(element("utilisation"), usable().map(([name, index]) => [curves.utilisation[name] ?? [], seriesColour(index)]),
    1, share => Math.round(100 * share) + " %");
  const [from, until] = shownPoints(shownTime());
  const most = curves.queued.slice(from, until).reduce((greatest, value) => Math.max(greatest, value), 0);
  drawCurves(element("waiting"), [[curves.queued, "var(--waiting)"]], niceCeiling(most), compact);
  element("whole").hidden = chosen === null;
  const count = windowCount(element("utilisation")), [begin, end] = shownTime();
  const what = count ? `means over ${duration((end - begin) / count)}, from least to greatest` : `${whole(until - from)} points`;
  element("range").textContent = `${what}${chosen ? "" : " · draw over a part to enlarge it"}`;
}

function tellPoint(svg, event) {
  if (!run || !curves.time.length || !svg.pointer) return;
  const index = svg.pointer(event.clientX - svg.getBoundingClientRect().left);
  const lines = usable().map(([name]) => `${name} ${percent(curves.utilisation[name][index])}`);
  tip([instant(curves.time[index]), ...lines, `${whole(curves.queued[index])} waiting`].join("\n"), event);
}

