// The page's data, and what is asked of it: a method's scores, peaks and selection on one text, people's marks.

const data = JSON.parse(document.getElementById("data").textContent);
const { runs, layouts, settings, metrics, methods, tasks } = data;

function runTitle(run) {
  const alike = runs.some((other) => other !== run && other.task === run.task && other.model === run.model);
  return alike ? `${run.model}, seed ${run.seed}` : run.model;
}

function availableOn(item, run) {
  return run.methods.filter((name, i) => item.scores[i] !== null);
}

// One method on one text. values: whole numbers in proportion to the scores, which everything is computed from.
function readMethod(run, item, name) {
  const column = run.methods.indexOf(name), packed = item.scores[column];
  if (column < 0 || !packed) return null;
  const [unit, values, listed] = packed;
  const peaks = listed || localMaxima(values, settings.rule);
  const scores = values.map((value) => value * unit);
  return { name, column, values, scores, peaks, about: methods[name], features: item.features?.[column] || null };
}

// People as a voter: how many of them marked each token.
function humanMarks(item) {
  if (!item.people) return null;
  const [of, values] = item.people, share = values.map((value) => value / of);
  return { values, of, share, peaks: localMaxima(share, settings.rule) };
}

function agreement(a, b, k) {
  return k === "dynamic" ? agreementOf(a.peaks, b.peaks) : agreementAtK(a.values, b.values, k);
}

function agreementWithPeople(a, people, k) {
  if (settings.people !== "share") return agreement(a, people, k);
  if (k === "dynamic") return selectionWithShare(a.peaks, people.share);
  return agreementWithShare(a.values, people.share, k);
}

// (n,) chance of each token to be selected: by its place among the top k, or as a peak.
function selectionOf(method, state) {
  const { values, peaks } = method;
  if (state.mode === "dynamic") return values.map((value, at) => (peaks.includes(at) ? 1 : 0));
  const { sure, tied, left } = topK(values, state.k), ties = tied.filter(Boolean).length;
  return values.map((value, at) => (sure[at] ? 1 : tied[at] ? left / ties : 0));
}
