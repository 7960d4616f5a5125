/* ---- the schedule: nodes over time --------------------------------------------------------------------------- */

/* Seconds that may be shown: a third of it is past. */
const SPANS = [60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400, 14 * 86400, 30 * 86400, 90 * 86400];
const CHOICES = [["auto", null], ["3 h", 3 * 3600], ["1 d", 86400], ["7 d", 7 * 86400], ["30 d", 30 * 86400]];
const PAST = 1 / 3, TALLEST_CHART = 420, NODE_HEIGHT = 22;
let span = null, chart = null;

/* The shortest span that shows when nine in ten running jobs are expected to end. */
function usualSpan() {
  const left = run.placements.map(([, , , end]) => end === null ? 0 : Math.max(end - run.now, 0)).sort((one, other) => one - other);
  const most = left.length ? left[Math.floor(.9 * (left.length - 1))] : 0;
  return SPANS.find(each => each * (1 - PAST) >= most) ?? SPANS.at(-1);
}

/* What each job has of a node, as shares of the chosen resource: what has none of it there is left out. */
function bars(begin, end) {
  const capacity = capacities();
  const bar = ([id, row, , until, amounts, nodes, tasks, since], ended) => ({ id, row, since, ended,
    expected: ended ? null : until, until: ended ? until : Math.max(until ?? Infinity, run.now),
    parts: nodes.map((node, place) => [node, shareOf(amounts, capacity[node], tasks[place])]).filter(([, share]) => share > 0) });
  return [...run.ended.map(job => bar(job, true)), ...run.placements.map(job => bar(job, false))]
    .filter(each => each.since < end && each.until > begin && each.parts.length)
    .sort((one, other) => one.since - other.since || one.row - other.row);
}

/* Takes the lowest free parts of a node, [floor, height] of 1, from `since` on: no two jobs cover one another. */
function take(held, since, until, share) {
  const under = held.filter(each => each.until > since).sort((one, other) => one.floor - other.floor), found = [];
  let floor = 0;
  for (const next of [...under, { floor: 1, height: 0 }]) {
    const height = Math.min(next.floor - floor, share);
    if (height > 1e-9) {
      found.push([floor, height]);
      under.push({ floor, height, until });
      share -= height;
    }
    floor = Math.max(floor, next.floor + next.height);
  }
  held.splice(0, held.length, ...under);
  return found;
}

/* Gives each bar its rectangles: [first node, last node, floor, height]; whole neighbouring nodes are one. */
function arrange(shown, nodes) {
  const held = Array.from({ length: nodes }, () => []);
  for (const bar of shown) {
    bar.pieces = [];
    for (const [node, share] of bar.parts.sort(([one], [other]) => one - other)) {
      for (const [floor, height] of take(held[node], bar.since, bar.until, share)) {
        const last = bar.pieces.at(-1);
        if (height > 1 - 1e-9 && last?.[1] === node - 1 && last[3] > 1 - 1e-9) last[1] = node;
        else bar.pieces.push([node, node, floor, height]);
      }
    }
  }
}

function drawBar(pen, bar, frame) {
  const { x, top, rowHeight, left, right } = frame, now = x(run.now);
  const from = Math.max(x(bar.since), left), until = Math.min(x(bar.until), right);
  const isLate = bar.expected !== null && bar.expected <= run.now;
  pen.fillStyle = jobColour(bar.row);
  for (const [first, last, floor, share] of bar.pieces) {
    const upper = top + (first + floor) * rowHeight, height = (last - first + share) * rowHeight;
    const fill = (begin, end) => pen.fillRect(begin, upper, Math.max(end - begin - (end - begin > 3 ? 1 : 0), .75), height - (height > 3 ? 1 : 0));
    if (bar.ended) { fill(from, until); continue; }
    if (now > from) fill(from, now);
    pen.globalAlpha = .42;
    if (until > now) fill(Math.max(now, from), until);
    pen.globalAlpha = 1;
    // It runs longer than it asked for.
    if (isLate && height > 2) fill(now, now + 6);
  }
}

function timeStep(length, most) {
  const steps = [1, 5, 10, 20, 60, 120, 300, 600, 1200, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 3 * 86400, 7 * 86400, 14 * 86400, 28 * 86400];
  return steps.find(step => length / step <= most) ?? length / most;
}

/* In the greatest unit that needs no more than one decimal. */
function offset(seconds) {
  const length = Math.abs(seconds), sign = seconds < 0 ? "−" : "+";
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    const tenths = 10 * length / size;
    if (tenths >= 10 && Math.abs(tenths - Math.round(tenths)) < 1e-6) return `${sign}${Math.round(tenths) / 10} ${unit}`;
  }
  return `${sign}${length} s`;
}

/* Distances from now, which stands still while time goes on. */
function drawTimeAxis(pen, frame, begin, end) {
  const step = timeStep(end - begin, Math.max(2, Math.floor((frame.right - frame.left) / 54)));
  pen.textBaseline = "top";
  for (let index = Math.ceil((begin - run.now) / step); run.now + index * step <= end; index++) {
    const place = frame.x(run.now + index * step), text = index === 0 ? "now" : offset(index * step);
    pen.fillStyle = style("--line");
    pen.fillRect(place, frame.top, 1, frame.bottom - frame.top + 4);
    pen.fillStyle = style(index === 0 ? "--now" : "--quiet");
    const half = pen.measureText(text).width / 2;
    pen.textAlign = "center";
    pen.fillText(text, Math.min(Math.max(place, frame.left + half), frame.right - half), frame.bottom + 6);
  }
}

function drawNodeAxis(pen, frame, nodes) {
  const most = Math.max(1, Math.floor((frame.bottom - frame.top) / 22));
  const step = [1, 2, 5].flatMap(digit => [1, 10, 100, 1e3, 1e4, 1e5, 1e6].map(power => digit * power))
    .sort((one, other) => one - other).find(each => nodes / each <= most) ?? nodes;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (let node = 0; node < nodes; node += step) {
    const middle = frame.top + (node + Math.min(.5, step / 2)) * frame.rowHeight;
    pen.fillStyle = style("--quiet");
    pen.fillText(String(node), frame.left - 7, Math.max(middle, frame.top + 6));
  }
}

function canvasOf(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return pen;
}

function drawSchedule() {
  const canvas = element("schedule"), width = canvas.parentElement.clientWidth - 32, nodes = nodeCount();
  const length = span ?? usualSpan(), begin = run.now - length * PAST, end = begin + length;
  const inside = Math.min(nodes * NODE_HEIGHT, TALLEST_CHART), top = 4, bottom = top + inside;
  const pen = canvasOf(canvas, width, bottom + 24);
  const left = Math.ceil(pen.measureText(String(nodes)).width) + 12, right = width;
  const x = time => left + (right - left) * (time - begin) / length;
  const shown = bars(begin, end), frame = { x, left, right, top, bottom, rowHeight: inside / nodes };
  arrange(shown, nodes);
  pen.fillStyle = style("--empty");
  pen.fillRect(left, top, right - left, inside);
  drawTimeAxis(pen, frame, begin, end);
  for (const bar of shown) drawBar(pen, bar, frame);
  drawUnknown(pen, frame, begin);
  pen.fillStyle = style("--now");
  pen.fillRect(x(run.now) - 1, top - 4, 2, inside + 8);
  drawNodeAxis(pen, frame, nodes);
  chart = { ...frame, begin, length, nodes, shown };
  describeSchedule(canvas, begin, end);
  drawSpans();
}

/* Of what is longer ago than the jobs that are kept, only those are known that ended since. */
function drawUnknown(pen, frame, begin) {
  const until = Math.min(frame.x(run.known_since), frame.right);
  if (run.known_since <= Math.max(begin, run.first) || until <= frame.left) return;
  pen.fillStyle = style("--card");
  pen.globalAlpha = .7;
  pen.fillRect(frame.left, frame.top, until - frame.left, frame.bottom - frame.top);
  pen.globalAlpha = 1;
}

function describeSchedule(canvas, begin, end) {
  const running = chart.shown.filter(bar => !bar.ended), late = running.filter(bar => bar.expected !== null && bar.expected <= run.now);
  const parts = [`${whole(running.length)} running until their expected ends`, `${whole(chart.shown.length - running.length)} ended`];
  if (late.length) parts.push(`${whole(late.length)} late`);
  if (chart.rowHeight < .7) parts.push(`about ${whole(1 / chart.rowHeight)} nodes per line`);
  if (run.known_since > Math.max(begin, run.first)) parts.push(`pale: before ${instant(run.known_since)} not all are known`);
  element("schedule-text").textContent = parts.join(" · ");
  const now = (chart.x(run.now) - chart.left) / (chart.right - chart.left);
  Object.assign(canvas.dataset, { nodes: chart.nodes, running: running.length, late: late.length,
    pieces: chart.shown.reduce((sum, bar) => sum + bar.pieces.length, 0), ended: chart.shown.length - running.length, begin, end, now: now.toFixed(4) });
}

function drawSpans() {
  const box = element("spans");
  if (!box.childElementCount) {
    box.replaceChildren(...CHOICES.map(([textContent, seconds]) => make("button", {
      type: "button", textContent, onclick() { span = seconds; drawSchedule(); },
    })));
  }
  [...box.children].forEach((button, index) => button.setAttribute("aria-pressed", CHOICES[index][1] === span));
}

function tellBar(event) {
  const box = element("schedule").getBoundingClientRect();
  const time = chart.begin + (event.clientX - box.left - chart.left) / (chart.right - chart.left) * chart.length;
  const node = Math.floor((event.clientY - box.top - chart.top) / chart.rowHeight);
  if (node < 0 || node >= chart.nodes || time < chart.begin) return tip("");
  const here = chart.shown.filter(bar =>
    bar.since <= time && time < bar.until && bar.parts.some(([each]) => each === node));
  const lines = here.slice(0, 12).map(bar => bar.ended ? `job ${bar.id}: ended ${instant(bar.until)}`
    : `job ${bar.id}: expected end ${bar.expected === null ? "unknown" : instant(bar.expected)}`);
  tip([`node ${node}, ${instant(time)}`, ...(lines.length ? lines : ["no job"])].join("\n"), event);
}

