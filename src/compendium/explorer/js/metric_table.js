// The table of metrics: each value of this text beside the mean that the tables give over texts of the run.

const TEXT_AGREEMENT = {
  methods: `the paper's six methods, top ${settings.fixed_k}`,
  methods_dynamic: "the paper's six methods, dynamic k",
  people: "people with each other",
};

function scoreCell(value, best, kind) {
  const classes = [best ? "best" : "", kind].filter(Boolean).join(" ");
  return el("td", { class: classes || null }, best ? el("b", {}, formatNumber(value)) : formatNumber(value));
}

// A row with a value for each method.
function pairRow(name, title, higherIsBetter, values, means, n) {
  const sign = higherIsBetter ? 1 : -1;
  const wins = (pair, i) => pair.every((v) => v !== null) && sign * (pair[i] - pair[1 - i]) > 1e-9;
  const way = higherIsBetter ? ["higher is better", " ↑"] : ["lower is better", " ↓"];
  const mark = el("span", { class: "way", title: way[0] }, way[1]);
  return el(
    "tr",
    { "data-metric": name },
    el("th", { scope: "row" }, title, mark),
    [0, 1].map((i) => scoreCell(values[i], wins(values, i), "")),
    [0, 1].map((i) => scoreCell(means[i], wins(means, i), "mean")),
    el("td", { class: "mean" }, n || "–"),
  );
}

// A row with one value for both.
function sharedRow(name, title, value, mean, n) {
  return el(
    "tr",
    { "data-metric": name },
    el("th", { scope: "row" }, title),
    el("td", { colspan: 2, class: "both" }, formatNumber(value)),
    el("td", { colspan: 2, class: "both mean" }, formatNumber(mean ?? null)),
    el("td", { class: "mean" }, n || "–"),
  );
}

function agreementRows(run, item, [a, b], k) {
  const people = humanMarks(item), key = [a.column, b.column].sort((p, q) => p - q).join("-");
  const fixed = run.pairs[key], dynamic = run.dynamic[key];
  const rows = [
    sharedRow("fixed", `A with B, top ${k}`, agreement(a, b, k), fixed?.[0][k - 1], fixed?.[1]),
    sharedRow("dynamic", "A with B, dynamic k", agreement(a, b, "dynamic"), dynamic?.[0], dynamic?.[1]),
  ];
  if (people) {
    const values = (size) => [a, b].map((method) => agreementWithPeople(method, people, size));
    const tabled = (table) => [a, b].map((method) => table[`${method.column}-people`]);
    const count = (found) => found.find(Boolean)?.[1];
    const atK = tabled(run.pairs), atPeaks = tabled(run.dynamic);
    const means = [atK.map((found) => found?.[0][k - 1] ?? null), atPeaks.map((found) => found?.[0] ?? null)];
    rows.push(pairRow("people_fixed", `with people, top ${k}`, true, values(k), means[0], count(atK)));
    rows.push(
      pairRow("people_dynamic", "with people, dynamic k", true, values("dynamic"), means[1], count(atPeaks)),
    );
  }
  for (const [name, title] of Object.entries(TEXT_AGREEMENT)) {
    const value = item.text_agreement?.[name], mean = run.text_agreement[name];
    if (value !== undefined) rows.push(sharedRow(name, title, value, mean, mean === undefined ? null : run.explained));
  }
  return rows;
}

function metricRows(judge, run, item, pair) {
  const value = (metric) => pair.map((method) => item.metrics[metric.name]?.[method.column] ?? null);
  const table = (metric) => pair.map((method) => run.means[metric.name]?.[method.column] || null);
  const known = (m) => m.judge === judge && [...value(m), ...table(m)].some((found) => found !== null);
  return metrics.filter(known).map((m) => {
    const means = table(m);
    return pairRow(m.name, m.title, m.higher_is_better, value(m), means.map((x) => x && x[0]), means.find(Boolean)?.[1]);
  });
}

function drawMetricTable(run, item, pair, k) {
  const body = Object.entries(data.judges).flatMap(([judge, title]) => {
    const rows = metricRows(judge, run, item, pair);
    if (judge === "agreement") rows.unshift(...agreementRows(run, item, pair, k));
    const head = el("tr", { class: "judge" }, el("th", { colspan: 6, scope: "colgroup" }, title));
    return rows.length ? [head, ...rows] : [];
  });
  const [a, b] = pair.map((method) => method.about.title);
  const key = el("span", {}, "Bold: the better of the two. Arrows: ↑ higher is better, ↓ lower is.");
  const above = el(
    "tr",
    {},
    el("th", { rowspan: 2, scope: "col" }, "Metric"),
    el("th", { colspan: 2, scope: "colgroup" }, "this text"),
    el("th", { colspan: 3, scope: "colgroup" }, "mean of n texts"),
  );
  const below = el("tr", {}, ["A", "B", "A", "B", "n"].map((text) => el("th", { scope: "col" }, text)));
  const caption = el("caption", {}, `A: ${a}. B: ${b}. `, key);
  return el("table", { class: "scores" }, caption, el("thead", {}, above, below), el("tbody", {}, body));
}
