// The page's data, and what is asked of it: a method's scores, peaks and selection on one text, people's marks.

const data = JSON.parse(document.getElementById("data").textContent);
const { runs, layouts, settings, measures, methods, tasks } = data;

function runName(run) {
  const alike = runs.some((other) => other !== run && other.task === run.task && other.model === run.model);
  return alike ? `${run.model}, seed ${run.seed}` : run.model;
}

function availableOn(one, run) {
  return run.methods.filter((name, i) => one.scores[i] !== null);
}

// One method on one text. values: whole numbers in proportion to the scores, which everything is computed from.
function read(run, one, name) {
  const place = run.methods.indexOf(name), packed = one.scores[place];
  if (place < 0 || !packed) return null;
  const [unit, values, told] = packed;
  const peaks = told || localMaxima(values, settings.rule);
  const scores = values.map((value) => value * unit);
  return { name, place, values, scores, peaks, about: methods[name], pieces: one.pieces?.[place] || null };
}

// People as a voter: how many of them marked each token.
function peopleOf(one) {
  if (!one.people) return null;
  const [of, values] = one.people, share = values.map((value) => value / of);
  return { values, of, share, peaks: localMaxima(share, settings.rule) };
}

function agree(a, b, k) {
  return k === "dynamic" ? agreementOf(a.peaks, b.peaks) : agreementAtK(a.values, b.values, k);
}

function agreeWithPeople(a, people, k) {
  if (settings.people !== "share") return agree(a, people, k);
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
