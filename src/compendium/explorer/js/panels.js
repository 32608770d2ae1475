// What each method says of the text, what people say, and every token with its scores.

const EVIDENCE = {
  hybrid: "The fragment of the predicted class, known by construction.",
  hit_target: "The subject of the verb.",
  hit_feat: "Nouns that have the predicted number.",
  manual: "Words marked as relevant.",
};

function drawLegend(pair, state) {
  const swatch = (kind, text) => {
    const word = el("span", { class: `t ${kind}`, style: { "--a": 0.8 } }, "word");
    return el("li", {}, word, ` ${text}`);
  };
  const chances = pair.flatMap((method) => selectionOf(method, state));
  const signed = pair.map((method) => method.about.signed);
  return [
    swatch("for", "for the class (line below)"),
    signed.some(Boolean) ? swatch("against", "against it (dotted line)") : null,
    swatch("chosen", state.mode === "fixed" ? "selected, with its rank" : "selected: a peak"),
    chances.some((p) => p > 0 && p < 1) ? swatch("tied", "tied for the last ranks") : null,
    signed.every(Boolean) ? null : el("li", {}, "Methods marked “size only” do not tell for from against."),
  ].filter(Boolean);
}

// How each token of a method's text looks; tokens at the end of a feature carry the feature's number.
function tokenStyles(method, words, chosen, ranks, features, state) {
  const colour = colouring(method.values), held = new Set(), ends = new Map();
  features.forEach(([first, second], i) => {
    for (const side of [first, second]) {
      side.forEach((at) => held.add(at));
      if (side.length) ends.set(side.at(-1), [...(ends.get(side.at(-1)) || []), i + 1]);
    }
  });
  return (at) => {
    const { side, share } = colour(at), picked = chosen[at] > 0;
    const kinds = [side, picked && (chosen[at] < 1 ? "tied" : "chosen"), held.has(at) && "held"];
    const rank = picked && state.mode === "fixed" ? ranks[at] : "";
    return {
      classes: kinds.filter(Boolean).join(" "),
      style: { "--a": share.toFixed(3) },
      title: `${words[at]}: ${formatNumber(method.scores[at])}, rank ${ranks[at]} of ${words.length}`,
      badge: method.features ? (ends.get(at) || []).join(",") : rank,
    };
  };
}

function selectionSummary(words, chosen, ranks, state) {
  const picks = words.map((word, at) => at).filter((at) => chosen[at] > 0);
  picks.sort((x, y) => ranks[x] - ranks[y]);
  const name = (at) => (chosen[at] < 1 ? `(${words[at]})` : words[at]);
  const list = picks.slice(0, 12).map(name).join(", ") || "none";
  const more = picks.length > 12 ? ` and ${picks.length - 12} more` : "";
  const ties = picks.some((at) => chosen[at] < 1) ? "; those in brackets tie for the last ranks" : "";
  return `${state.mode === "dynamic" ? plural(picks.length, "peak") : `Top ${state.k}`}: ${list}${more}${ties}`;
}

function drawPanel(letter, method, item, run, state) {
  const layout = layouts[item.layout], words = wordsOf(layout), { title, level, signed } = method.about;
  const chosen = selectionOf(method, state), ranks = ranksOf(method.values);
  const features = method.features ? method.features.slice(0, state.features) : [];
  const styleOf = tokenStyles(method, words, chosen, ranks, features, state);
  const shape = `${plural(words.length, "token")}, ${plural(method.peaks.length, "peak")}`;
  const room = window.innerWidth >= 900 ? Math.min(window.innerWidth, 1216) / 2 : window.innerWidth;
  const kinds = [level === "token" ? "" : `${level}s, shared out over their tokens`, signed ? "" : "size only"];
  const small = kinds.filter(Boolean).join(", ");
  const profile = {
    words,
    scores: method.scores,
    peaks: method.peaks,
    selected: chosen,
    title: `Attribution profile of ${title}: ${shape}`,
    width: Math.min(560, Math.max(240, room - 70)),
  };
  return el(
    "section",
    { class: "panel", "aria-label": `Method ${letter}: ${title}`, "data-method": method.name },
    el("h2", {}, el("span", { class: "letter" }, letter), title, small ? el("small", {}, ` ${small}`) : null),
    el("p", { class: "summary" }, selectionSummary(words, chosen, ranks, state)),
    el("div", { class: `words${method.features ? " linked" : ""}` }, drawText(layout, tasks[run.task].parts, styleOf)),
    method.features ? drawFeatures(features, words, method) : null,
    drawProfile(profile),
  );
}

function drawFeatures(features, words, method) {
  if (!method.features.length) return el("p", { class: "summary" }, "This explanation has no feature.");
  const items = features.map(([first, second, score]) => {
    const sides = [first, second].filter((side) => side.length).map((side) => joinTokens(words, side));
    return el("li", {}, sides.join(" ↔ "), el("span", { class: "value" }, ` ${formatNumber(score)}`));
  });
  return el("ol", { class: "features", "aria-label": `First ${method.about.level}s of ${method.about.title}` }, items);
}

// What people marked or related, and where evidence is known to lie; nothing where nobody says anything.
function drawPeople(item, run) {
  const people = humanMarks(item), layout = layouts[item.layout], out = [];
  const add = (text, styleOf, linked) => {
    out.push(el("p", { class: "summary" }, text));
    out.push(el("div", { class: `words${linked ? " linked" : ""}` }, drawText(layout, tasks[run.task].parts, styleOf)));
  };
  if (people) {
    const several = people.of > 1;
    const who = several ? `any of ${people.of} people marked; the number says how many did.` : "people marked.";
    add(`Words that ${who}`, (at) => ({
      classes: people.values[at] ? "marked" : "",
      style: { "--a": people.share[at].toFixed(3) },
      badge: several && people.values[at] ? people.values[at] : "",
      title: `marked by ${people.values[at]} of ${people.of}`,
    }));
  }
  for (const [game, places] of Object.entries(item.evidence || {})) {
    const inside = new Set(places);
    add(`Evidence: ${EVIDENCE[game]}`, (at) => ({ classes: inside.has(at) ? "marked" : "", style: { "--a": 0.8 } }));
  }
  if (item.relations) {
    const inside = new Set(item.relations.flat(2)), pairs = plural(item.relations.length, "pair");
    const text = `${pairs} of spans, one in each part, that people marked.`;
    add(text, (at) => ({ classes: inside.has(at) ? "held" : "" }), true);
  }
  return out;
}

function drawTokens(item, pair) {
  const words = wordsOf(layouts[item.layout]), people = humanMarks(item);
  const ranks = pair.map((method) => ranksOf(method.values));
  const heads = ["Token", "A", "rank", "B", "rank", ...(people ? ["people"] : [])];
  const rows = words.map((word, at) => {
    const cells = pair.flatMap((method, i) => [formatNumber(method.scores[at]), String(ranks[i][at])]);
    if (people) cells.push(`${people.values[at]} of ${people.of}`);
    return el("tr", {}, el("th", { scope: "row" }, word), cells.map((text) => el("td", {}, text)));
  });
  const head = el("tr", {}, heads.map((text) => el("th", { scope: "col" }, text)));
  return el("table", {}, el("thead", {}, head), el("tbody", {}, rows));
}
