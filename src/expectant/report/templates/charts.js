// Charts as SVG: curves with bands over one axis, redrawn at the width they are given.
const page = JSON.parse(document.getElementById("data").textContent);
const { palette } = page;
const byId = (id) => document.getElementById(id);
const isKnown = (value) => value !== null && value !== undefined && Number.isFinite(value);

const svg = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const html = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

// The format of all numbers on the page: four digits, a true minus sign.
const format = (value) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  const text = size >= 1000 && size < 1e7 ? Math.round(size).toLocaleString("en") : String(Number(size.toPrecision(4)));
  return (value < 0 ? "−" : "") + text;
};

// ---- axes
const niceTicks = (low, high, most) => {
  const raw = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999) * power;
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n += 1) ticks.push(Number((n * step).toPrecision(12)));
  return ticks;
};
const logTicks = (low, high) => {
  const ticks = [];
  for (let n = Math.floor(Math.log10(low)); 10 ** n <= high * 1.001; n += 1) {
    for (const factor of [1, 2, 5]) ticks.push(Number((factor * 10 ** n).toPrecision(6)));
  }
  const inside = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  const powers = inside.filter((tick) => /^(1|0\.0*1|10*)$|^1e/.test(String(tick)));
  return powers.length > 1 ? powers : inside;
};
// From values to pixels: linear, or logarithmic.
const scaleOf = (low, high, from, to, isLog = false) => {
  const turn = isLog ? Math.log10 : (value) => value;
  const start = turn(low), span = turn(high) - start || 1;
  return (value) => from + (to - from) * (turn(value) - start) / span;
};

// ---- marks
const SHAPES = {
  o: "M5 0a5 5 0 1 0-10 0 5 5 0 1 0 10 0z", s: "M-4-4h8v8h-8z", D: "M0-5.5l5.5 5.5L0 5.5-5.5 0z",
  "^": "M0-5.5l5.2 9.5h-10.4z", v: "M0 5.5l5.2-9.5h-10.4z", "<": "M-5.5 0l9.5-5.2v10.4z", ">": "M5.5 0l-9.5-5.2v10.4z",
  P: "M-1.7-5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z", X: "M-3.5-5L0-1.6 3.5-5 5-3.5 1.6 0 5 3.5 3.5 5 0 1.6-3.5 5-5 3.5-1.6 0-5-3.5z",
};
const LINE = 2, MANY_POINTS = 300, MARKERS = 8;
const dashes = (dash, width) => (dash.length ? { "stroke-dasharray": dash.map((part) => part * width).join(" ") } : {});
const marker = (style, x, y, size = 0.8) => svg("path", {
  d: SHAPES[style.marker], transform: `translate(${x} ${y}) scale(${size})`, fill: style.colour, stroke: "#fff", "stroke-width": 0.9,
});
// A piece of an agent's line with its marker.
const swatch = (style) => svg("svg", { width: 40, height: 12, viewBox: "0 0 40 12", "aria-hidden": "true" },
  svg("path", { d: "M0 6H40", stroke: style.colour, "stroke-width": LINE, ...dashes(style.dash, LINE) }), marker(style, 20, 6));

const points = (xs, ys, x, y) => {
  let text = "", pen = "M";
  ys.forEach((value, n) => {
    if (!isKnown(value)) { pen = "M"; return; }
    text += `${pen}${x(xs[n]).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return text;
};
// There along the top, back along the bottom, once per unbroken stretch.
const outline = (xs, { low, high }, x, y) => {
  let text = "", start = 0;
  while (start < xs.length) {
    if (!isKnown(low[start])) { start += 1; continue; }
    let end = start;
    while (end < xs.length && isKnown(low[end])) end += 1;
    const there = [], back = [];
    for (let n = start; n < end; n += 1) {
      there.push(`${x(xs[n]).toFixed(1)} ${y(high[n]).toFixed(1)}`);
      back.unshift(`${x(xs[n]).toFixed(1)} ${y(low[n]).toFixed(1)}`);
    }
    text += `M${there.join("L")}L${back.join("L")}Z`;
    start = end;
  }
  return text;
};

const drawCurves = (group, curves, plot, x, y) => {
  const styles = curves.map((curve) => curve.style ?? palette[curve.key]);
  curves.forEach((curve, n) => group.append(svg("path", { d: outline(curve.x ?? plot.x, curve, x, y), fill: styles[n].colour, "fill-opacity": 0.16, class: "band" })));
  curves.forEach((curve, n) => {
    const xs = curve.x ?? plot.x, width = xs.length > MANY_POINTS ? LINE / 2 : LINE;
    group.append(svg("path", { d: points(xs, curve.mean, x, y), fill: "none", stroke: styles[n].colour, "stroke-width": width, "stroke-linejoin": "round", class: "line", ...dashes(styles[n].dash, width) }));
  });
  curves.forEach((curve, n) => {
    const xs = curve.x ?? plot.x, step = Math.max(1, Math.floor(xs.length / MARKERS));
    for (let at = Math.floor(step * n / curves.length); at < xs.length; at += step) {
      if (isKnown(curve.mean[at])) group.append(marker(styles[n], x(xs[at]), y(curve.mean[at])));
    }
    // A cross where a curve ends early because a run diverged.
    const last = curve.mean.findLastIndex(isKnown);
    if (last >= 0 && curve.mean.includes(null)) {
      group.append(svg("path", { d: "M-5-5L5 5M-5 5L5-5", transform: `translate(${x(xs[last])} ${y(curve.mean[last])})`, stroke: styles[n].colour, "stroke-width": 2.5, class: "cross" }));
    }
  });
};

let clips = 0;
const LEVEL_DASHES = ["6 4", "1.5 2.5"];
const spanOf = (plot) => {
  if (!plot.scale) return [plot.begin, plot.end];
  const all = plot.curves.flatMap((curve) => Array.from(curve.x ?? plot.x)), low = Math.min(...all), high = Math.max(...all);
  if (plot.scale === "log") return [low / (high / low) ** 0.05, high * (high / low) ** 0.05];
  const room = (high - low || 1) * (plot.ticks.length ? 0.5 / Math.max(plot.ticks.length - 1, 1) : 0.05);
  return [low - room, high + room];
};

// Draw a plot into a box; `tell` hears of the position and value of every curve under the pointer.
const drawPlot = (box, plot, { range, yName, curves = plot.curves, height = 260, tell = () => {} }) => {
  const width = Math.floor(box.clientWidth);
  if (width < 40) return;
  const ended = plot.levels.filter(({ to, last }) => !plot.scale && to >= plot.end && last >= range[0]);
  const yTicks = niceTicks(...range, height / 48), labels = yTicks.map(format);
  const margin = { left: 26 + 6.6 * Math.max(...labels.map((text) => text.length)), right: Math.max(14, plot.scale ? 14 : 3.4 * format(plot.end).length, ...ended.map((level) => 12 + 6.4 * format(level.last).length)), top: 8, bottom: 40 };
  const [left, right, top, bottom] = [margin.left, width - margin.right, margin.top, height - margin.bottom];
  const [first, last] = spanOf(plot);
  const x = scaleOf(first, last, left, right, plot.scale === "log"), y = scaleOf(...range, bottom, top);
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${yName} over ${plot.xName}${plot.heading ? `, ${plot.heading}` : ""}` });
  const text = (content, at, more = {}) => root.append(svg("text", { x: at[0], y: at[1], ...more }, content));
  yTicks.forEach((tick, n) => {
    root.append(svg("path", { d: `M${left} ${y(tick)}H${right}`, class: "grid" }));
    text(labels[n], [left - 6, y(tick) + 4], { class: "tick", "text-anchor": "end" });
  });
  const tried = plot.scale ? [...new Set(plot.curves.flatMap((curve) => Array.from(curve.x ?? plot.x)))].sort((a, b) => a - b) : [];
  const hasRoom = tried.length > 1 && tried.slice(1).every((value, n) => x(value) - x(tried[n]) > 40);
  const xTicks = plot.ticks.length ? [...plot.ticks.keys()] : hasRoom ? tried : plot.scale === "log" ? logTicks(first, last) : niceTicks(first, last, Math.min(8, width / 75));
  xTicks.forEach((tick) => {
    root.append(svg("path", { d: `M${x(tick)} ${bottom}v4`, class: "axis" }));
    text(plot.ticks.length ? plot.ticks[tick] : format(tick), [x(tick), bottom + 17], { class: "tick", "text-anchor": "middle" });
  });
  text(plot.xName, [(left + right) / 2, height - 6], { class: "name", "text-anchor": "middle" });
  const nameSize = Math.min(11.5, (top + bottom) / (0.56 * yName.length));  // a long name gets smaller letters
  text(yName, [0, 0], { class: "name", "font-size": nameSize, "text-anchor": "middle", transform: `translate(11 ${(top + bottom) / 2}) rotate(-90)` });
  const clip = `clip-${clips += 1}`;
  root.append(svg("clipPath", { id: clip }, svg("rect", { x: left, y: top - 4, width: right - left + 4, height: bottom - top + 4 })));
  plot.breaks.forEach((at) => root.append(svg("path", { d: `M${x(at)} ${top}V${bottom}`, class: "break" })));
  plot.levels.filter(({ last: end }) => end >= range[0]).forEach(({ from, to, height: start, last: end, kind }) => root.append(svg("path", {
    d: `M${x(from)} ${y(start)}L${x(to)} ${y(end)}`, class: "level", "stroke-dasharray": LEVEL_DASHES[kind % 2],
  })));
  ended.forEach(({ last: end }) => text(format(end), [right + 4, y(end) + 4], { class: "level-name" }));
  const group = svg("g", { "clip-path": `url(#${clip})` });
  drawCurves(group, curves, plot, x, y);
  const cursor = svg("path", { class: "cursor" }), dots = svg("g");
  root.append(svg("path", { d: `M${left} ${top}V${bottom}H${right}`, class: "axis" }), group, cursor, dots);
  const all = curves.length ? Array.from(curves.reduce((most, curve) => ((curve.x ?? plot.x).length > most.length ? (curve.x ?? plot.x) : most), [])) : [];
  const leave = () => { cursor.removeAttribute("d"); dots.replaceChildren(); tell(null); };
  const move = (event) => {
    const at = event.clientX - root.getBoundingClientRect().left;
    if (!all.length || at < left - 8 || at > right + 8) { leave(); return; }
    const nearest = all.reduce((best, value) => (Math.abs(x(value) - at) < Math.abs(x(best) - at) ? value : best), all[0]);
    cursor.setAttribute("d", `M${x(nearest)} ${top}V${bottom}`);
    const found = curves.map((curve) => {
      const n = Array.from(curve.x ?? plot.x).indexOf(nearest);
      return n < 0 ? {} : { mean: curve.mean[n], low: curve.low[n], high: curve.high[n] };
    });
    dots.replaceChildren(...curves.flatMap((curve, n) => (isKnown(found[n].mean) && found[n].mean >= range[0]
      ? [svg("circle", { cx: x(nearest), cy: y(found[n].mean), r: 3.5, fill: (curve.style ?? palette[curve.key]).colour, stroke: "#fff" })] : [])));
    tell(plot.ticks.length ? plot.ticks[nearest] : nearest, found);
  };
  root.addEventListener("pointermove", move);
  root.addEventListener("pointerleave", leave);
  box.replaceChildren(root);
};

// Call `draw` whenever the element gets another width: opened, resized, printed.
const onWidth = (element, draw) => {
  let width = 0;
  new ResizeObserver(() => {
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    if (width) draw();
  }).observe(element);
};
