// The judges' table: each score of this text beside the mean that the tables give over all texts of the run.

const WHOLE = {
  methods: `the paper's six methods, top ${settings.fixed_k}`,
  methods_dynamic: "the paper's six methods, dynamic k",
  people: "people with each other",
};

function scoreCell(value, best, kind) {
  const classes = [best ? "best" : "", kind].filter(Boolean).join(" ");
  return el("td", { class: classes || null }, best ? el("b", {}, tell(value)) : tell(value));
}

// A row with a score for each method; better: 1 where higher is better, -1 where lower is.
function pairRow(name, title, better, values, means, n) {
  const wins = (pair, i) => pair.every((v) => v !== null) && better * (pair[i] - pair[1 - i]) > 1e-9;
  const way = better > 0 ? ["higher is better", " ↑"] : ["lower is better", " ↓"];
  const mark = el("span", { class: "way", title: way[0] }, way[1]);
  return el(
    "tr",
    { "data-measure": name },
    el("th", { scope: "row" }, title, mark),
    [0, 1].map((i) => scoreCell(values[i], wins(values, i), "")),
    [0, 1].map((i) => scoreCell(means[i], wins(means, i), "mean")),
    el("td", { class: "mean" }, n || "–"),
  );
}

// A row with one score for both.
function sharedRow(name, title, value, mean, n) {
  return el(
    "tr",
    { "data-measure": name },
    el("th", { scope: "row" }, title),
    el("td", { colspan: 2, class: "both" }, tell(value)),
    el("td", { colspan: 2, class: "both mean" }, tell(mean ?? null)),
    el("td", { class: "mean" }, n || "–"),
  );
}

function agreementRows(run, one, [a, b], k) {
  const people = peopleOf(one), key = [a.place, b.place].sort((p, q) => p - q).join("-");
  const fixed = run.pairs[key], dynamic = run.dynamic[key];
  const rows = [
    sharedRow("fixed", `A with B, top ${k}`, agree(a, b, k), fixed?.[0][k - 1], fixed?.[1]),
    sharedRow("dynamic", "A with B, dynamic k", agree(a, b, "dynamic"), dynamic?.[0], dynamic?.[1]),
  ];
  if (people) {
    const told = [a, b].map((method) => run.pairs[`${method.place}-people`]);
    const free = [a, b].map((method) => run.dynamic[`${method.place}-people`]);
    const at = (how) => [a, b].map((method) => agreeWithPeople(method, people, how));
    const count = (found) => found.find(Boolean)?.[1];
    const means = told.map((found) => found?.[0][k - 1] ?? null);
    rows.push(pairRow("people_fixed", `with people, top ${k}`, 1, at(k), means, count(told)));
    const others = free.map((found) => found?.[0] ?? null);
    rows.push(pairRow("people_dynamic", "with people, dynamic k", 1, at("dynamic"), others, count(free)));
  }
  for (const [name, title] of Object.entries(WHOLE)) {
    const value = one.facts?.[name], mean = run.facts[name];
    if (value !== undefined) rows.push(sharedRow(name, title, value, mean, mean === undefined ? null : run.explained));
  }
  return rows;
}

function judgedRows(judge, run, one, pair) {
  const value = (measure) => pair.map((method) => one.judged[measure.name]?.[method.place] ?? null);
  const table = (measure) => pair.map((method) => run.means[measure.name]?.[method.place] || null);
  const known = (m) => m.judge === judge && [...value(m), ...table(m)].some((found) => found !== null);
  return measures.filter(known).map((m) => {
    const means = table(m);
    return pairRow(m.name, m.title, m.better, value(m), means.map((x) => x && x[0]), means.find(Boolean)?.[1]);
  });
}

function drawScores(run, one, pair, k) {
  const body = Object.entries(data.judges).flatMap(([judge, title]) => {
    const rows = judge === "agreement" ? agreementRows(run, one, pair, k) : judgedRows(judge, run, one, pair);
    const head = el("tr", { class: "judge" }, el("th", { colspan: 6, scope: "colgroup" }, title));
    return rows.length ? [head, ...rows] : [];
  });
  const [a, b] = pair.map((method) => method.about.title);
  const key = el("span", {}, "Bold: the better of the two. Arrows: ↑ higher is better, ↓ lower is.");
  const above = el(
    "tr",
    {},
    el("th", { rowspan: 2, scope: "col" }, "Score"),
    el("th", { colspan: 2, scope: "colgroup" }, "this text"),
    el("th", { colspan: 3, scope: "colgroup" }, "all texts: mean"),
  );
  const below = el("tr", {}, ["A", "B", "A", "B", "n"].map((text) => el("th", { scope: "col" }, text)));
  const caption = el("caption", {}, `A: ${a}. B: ${b}. `, key);
  return el("table", { class: "scores" }, caption, el("thead", {}, above, below), el("tbody", {}, body));
}
