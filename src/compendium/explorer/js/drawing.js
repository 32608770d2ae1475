// How a text, a profile and features are drawn. Texts enter the page as text only, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

function el(tag, attributes, ...children) {
  const svg = ["svg", "path", "rect", "line", "text", "g", "title", "circle"].includes(tag);
  const made = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "style") for (const [key, v] of Object.entries(value)) made.style.setProperty(key, v);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

function plural(n, item, many) {
  return `${n} ${n === 1 ? item : many || item + "s"}`;
}

// [[{before, text, at}], after, rest] for each part of a text; `at` counts content tokens through all parts.
function partsOf(layout) {
  const [texts, steps, rest] = layout;
  let at = 0;
  return texts.map((text, part) => {
    const tokens = [];
    let from = 0;
    for (let i = 0; i < steps[part].length; i += 2) {
      const start = from + steps[part][i], end = start + steps[part][i + 1];
      tokens.push({ before: text.slice(from, start), text: text.slice(start, end), at: at++ });
      from = end;
    }
    return { tokens, after: text.slice(from), rest: rest[part] };
  });
}

function wordsOf(layout) {
  return partsOf(layout).flatMap((part) => part.tokens.map((token) => token.text));
}

// A text whose tokens styleOf as `styleOf(at)` says: {classes, style, title, badge}.
function drawText(layout, names, styleOf) {
  const parts = partsOf(layout);
  return parts.map((part, p) => {
    const shown = part.tokens.flatMap((token) => {
      const { classes, style, title, badge } = styleOf(token.at);
      const span = el("span", { class: `t ${classes || ""}`.trim(), "data-at": token.at, style, title }, token.text);
      if (badge) span.append(el("sup", {}, badge));
      return token.before ? [token.before, span] : [span];
    });
    const unread = ` … ${part.rest} more characters, not read by the model`;
    const rest = part.rest ? el("span", { class: "rest" }, unread) : null;
    const head = parts.length > 1 ? el("p", { class: "part" }, names[p] || `part ${p + 1}`) : null;
    return el("div", { class: "textpart" }, head, el("p", { class: "text" }, shown, part.after, rest));
  });
}

// How strongly a score is coloured: its share of the largest size, for or against the explained class.
function colouring(scores) {
  const largest = Math.max(...scores.map(Math.abs), 0);
  return (at) => {
    const share = largest ? Math.abs(scores[at]) / largest : 0;
    const side = share < 0.02 ? "" : scores[at] > 0 ? "for" : "against";
    return { side, share };
  };
}

// Bars of all tokens' scores with the mean, peaks as triangles, and the selected tokens dark.
function drawProfile({ words, scores, peaks, selected, title, width }) {
  const n = words.length, step = Math.max(n > 60 ? 5 : 11, Math.min(30, width / Math.max(n, 1)));
  const labelled = step >= 11, height = 96, below = labelled ? 64 : 6, top = 12, total = Math.max(n * step, 40);
  const most = Math.max(...scores, 0), least = Math.min(...scores, 0), range = most - least || 1;
  const y = (score) => top + ((most - score) / range) * (height - top);
  const mean = scores.reduce((a, b) => a + b, 0) / Math.max(n, 1), at = new Set(peaks);
  const bars = scores.map((score, i) => {
    const x = i * step, middle = x + step / 2, picked = selected[i] > 0 ? (selected[i] < 1 ? "tied" : "chosen") : "";
    const size = { x: x + step * 0.1, y: Math.min(y(score), y(0)), width: step * 0.8 };
    size.height = Math.max(1, Math.abs(y(score) - y(0)));
    const bar = el("rect", { class: `bar ${score >= 0 ? "for" : "against"} ${picked}`.trim(), ...size });
    bar.append(el("title", {}, `${words[i]}: ${formatNumber(score)}${at.has(i) ? ", a peak" : ""}`));
    const peak = at.has(i) ? el("path", { class: "peak", d: `M${middle - 3.5} ${y(score) - 9}h7l-3.5 6z` }) : null;
    const place = { transform: `translate(${middle + 3} ${height + 8}) rotate(-55)`, "text-anchor": "end" };
    const label = { class: picked ? "chosen" : "", ...place };
    return el("g", {}, bar, peak, labelled ? el("text", label, words[i].slice(0, 11)) : null);
  });
  const line = el("line", { class: "mean", x1: 0, x2: total, y1: y(mean), y2: y(mean) });
  line.append(el("title", {}, `mean: ${formatNumber(mean)}`));
  const zero = el("line", { class: "zero", x1: 0, x2: total, y1: y(0), y2: y(0) });
  const box = { viewBox: `-14 -2 ${total + 16} ${height + below}`, width: total + 16, height: height + below };
  const svg = el("svg", { ...box, role: "img", "aria-label": title }, bars, zero, line);
  const wide = { tabindex: "0", role: "group", "aria-label": `${title}; scrolls sideways` };
  return el("div", { class: "scroll profile", ...(total + 16 > width ? wide : {}) }, svg);
}

// Curves between the two sides of each feature, over a text that lies in `box`.
function drawArcs(box, features) {
  box.querySelector("svg.arcs")?.remove();
  const outer = box.getBoundingClientRect();
  if (!features.length || !outer.width) return;
  const middle = (places) => {
    const boxes = places.map((at) => box.querySelector(`[data-at="${at}"]`)?.getClientRects()[0]).filter(Boolean);
    if (!boxes.length) return null;
    const line = boxes.filter((b) => Math.abs(b.top - boxes[0].top) < b.height / 2);
    const left = Math.min(...line.map((b) => b.left)), right = Math.max(...line.map((b) => b.right));
    return { x: (left + right) / 2 - outer.left, top: boxes[0].top - outer.top, bottom: boxes[0].bottom - outer.top };
  };
  const largest = Math.max(...features.map((feature) => Math.abs(feature[2] ?? 1))) || 1;
  const paths = features.map(([first, second, score], i) => {
    const a = middle(first), b = middle(second);
    if (!a || !b) return null;
    const from = a.bottom + 1, to = b.top - 1, bend = Math.max(14, (to - from) / 2);
    const width = 1 + 2.5 * (Math.abs(score ?? largest) / largest);
    const kind = score === undefined ? "people" : score >= 0 ? "for" : "against";
    const d = `M${a.x} ${from}C${a.x} ${from + bend} ${b.x} ${to - bend} ${b.x} ${to}`;
    return el("path", { class: `arc ${kind}`, "stroke-width": width, d, "data-feature": i + 1 });
  });
  const size = { width: outer.width, height: outer.height };
  box.append(el("svg", { class: "arcs", ...size, "aria-hidden": "true" }, paths));
}

// Places among the tokens as words, with dots where something is left out.
function joinTokens(words, places) {
  return places.map((at, i) => (i && at !== places[i - 1] + 1 ? "… " : "") + words[at]).join(" ");
}

// A number for people: three digits after the point, or two significant ones where that would show nothing.
function formatNumber(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value)) return String(value);
  const text = Math.abs(value) < 0.0005 ? value.toExponential(1) : value.toFixed(3);
  return text.replaceAll("-", "−");
}
