// The page's state lies in the address (#task=...&text=...), so that what is seen can be linked to.

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { runs, layouts, settings, measures, methods, tasks } = data;
  const $ = (id) => document.getElementById(id);
  const state = { task: "", run: 0, text: "", a: "", b: "", k: settings.fixed_k, mode: "fixed", pieces: 3 };
  const WISHES = [["lime", "partition_shap"], ["limsse_logit", "lrp"], ["integrated_gradients_zero", "deeplift"], ["kernel_shap", "bivariate_shapley_spans"]];

  const runName = (run) => `${run.model}${runs.some((r) => r !== run && r.task === run.task && r.model === run.model) ? `, seed ${run.seed}` : ""}`;
  const chosenRun = () => runs[state.run];
  const chosenText = () => chosenRun().shown.find((one) => one.id === state.text) || chosenRun().shown[0];
  const available = (one, run) => run.methods.filter((name, i) => one.scores[i] !== null);

  // One method on one text: its scores, peaks and selections, as everything else asks for them.
  function read(run, one, name) {
    const place = run.methods.indexOf(name), packed = one.scores[place];
    if (place < 0 || !packed) return null;
    const [unit, values, told] = packed;
    const peaks = told || localMaxima(values, settings.rule);
    return { name, place, values, peaks, scores: values.map((v) => v * unit), about: methods[name], pieces: one.pieces?.[place] || null };
  }
  function peopleOf(one) {
    if (!one.people) return null;
    const [of, values] = one.people;
    return { values, of, share: values.map((v) => v / of), peaks: localMaxima(values.map((v) => v / of), settings.rule) };
  }
  function agree(a, b, k) {
    return k === "dynamic" ? agreementOf(a.peaks, b.peaks) : agreementAtK(a.values, b.values, k);
  }
  function agreeWithPeople(a, people, k) {
    if (settings.people !== "share") return agree(a, people, k);
    return k === "dynamic" ? selectionWithShare(a.peaks, people.share) : agreementWithShare(a.values, people.share, k);
  }
  // (n,) chance of each token to be selected, as the page's setting has it.
  function selection(a) {
    if (state.mode === "dynamic") return a.values.map((v, i) => (a.peaks.includes(i) ? 1 : 0));
    const { sure, tied, left } = topK(a.values, state.k), ties = tied.filter(Boolean).length;
    return sure.map((s, i) => (s ? 1 : tied[i] ? left / ties : 0));
  }
  window.explorer = { data, state, read, peopleOf, agree, agreeWithPeople, agreementAtK, agreementWithShare, localMaxima, agreementOf, selectionWithShare, topK, draw };

  function fill(select, options, value) {
    select.replaceChildren(...options.map(([key, text]) => el("option", { value: key }, text)));
    select.value = value;
  }
  function shorten(one) {
    const text = layouts[one.layout][0].join(" / ").replace(/\s+/g, " ").trim();
    return text.length > 60 ? `${text.slice(0, 58)}…` : text;
  }

  // Bring the state to something that there is, nearest to what was asked for.
  function settle() {
    if (!Object.hasOwn(tasks, state.task)) state.task = runs[0].task;
    if (runs[state.run]?.task !== state.task) state.run = runs.findIndex((run) => run.task === state.task);
    const run = chosenRun(), one = chosenText();
    state.text = one.id;
    const here = available(one, run), wish = WISHES.find((pair) => pair.every((name) => here.includes(name)));
    const words = wordsOf(layouts[one.layout]).length;
    state.most = Math.max(1, Math.min(settings.largest_k, words));
    state.k = Math.max(1, Math.min(settings.largest_k, Math.round(state.k) || settings.fixed_k));
    state.pieces = Math.max(0, Math.min(12, Math.round(state.pieces)));
    if (!["fixed", "dynamic"].includes(state.mode)) state.mode = "fixed";
    // what nobody has chosen, or this text does not have, is filled with methods that say something
    const usual = [...(wish || []), ...here.filter((name) => name !== "random"), ...here];
    const a = here.includes(state.a) ? state.a : usual[0];
    const b = here.includes(state.b) ? state.b : usual.find((name) => name !== a) || a;
    return { run, one, a, b, here };
  }

  function readAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const name of ["task", "text", "a", "b", "mode"]) if (asked.get(name)) state[name] = asked.get(name);
    for (const name of ["k", "pieces"]) if (asked.get(name)) state[name] = Number(asked.get(name)) || 0;
    if (asked.get("model")) {
      const same = (run) => run.task === asked.get("task") && run.model === asked.get("model");
      const found = runs.findIndex((run) => same(run) && String(run.seed) === asked.get("seed"));
      state.run = found >= 0 ? found : runs.findIndex(same);
    }
  }
  function writeAddress(a, b) {
    const run = chosenRun(), { task, text, k, mode, pieces } = state;
    const hash = new URLSearchParams({ task, model: run.model, seed: run.seed, text, a, b, mode, k, pieces });
    history.replaceState(null, "", `#${hash}`);
  }

  function draw() {
    const { run, one, a, b, here } = settle();
    const at = run.shown.indexOf(one), title = (name) => methods[name].title, options = here.map((name) => [name, title(name)]);
    fill($("task"), Object.entries(tasks).map(([name, task]) => [name, task.short]), state.task);
    fill($("run"), runs.flatMap((r, i) => (r.task === state.task ? [[i, runName(r)]] : [])), state.run);
    fill($("text"), run.shown.map((item, i) => [item.id, `${i + 1}. ${shorten(item)}`]), one.id);
    fill($("a"), options, a);
    fill($("b"), options, b);
    $("previous").disabled = at === 0;
    $("next").disabled = at === run.shown.length - 1;
    $("k").max = state.most;
    $("k").value = Math.min(state.k, state.most);
    $("k").disabled = state.mode === "dynamic";
    $("kout").value = Math.min(state.k, state.most);
    $(state.mode).checked = true;
    const pair = [read(run, one, a), read(run, one, b)];
    $("piecebox").hidden = !pair.some((method) => method.pieces);
    $("pieces").value = state.pieces;
    $("pout").value = state.pieces;
    const labels = tasks[run.task].labels;
    const sure = one.p === null ? "" : ` with probability ${one.p.toFixed(2)}`;
    const said = `${labels[one.predicted]}${sure}; labelled ${labels[one.label]}`;
    const of = one.target === one.predicted ? "" : ` The scores explain the label, ${labels[one.target]}.`;
    $("what").textContent = `Text ${at + 1} of ${run.shown.length}. ${runName(run)} predicts ${said}.${of}`;
    drawLegend(pair);
    $("panels").replaceChildren(...pair.map((method, i) => drawPanel("AB"[i], method, one, run)));
    drawPeople(one, run);
    $("scores").replaceChildren(drawScores(run, one, pair));
    if ($("tokens").open) drawTokens();
    connect();
    writeAddress(a, b);
  }

  function drawLegend(pair) {
    const swatch = (kind, text) => el("li", {}, el("span", { class: `t ${kind}`, style: { "--a": 0.8 } }, "word"), ` ${text}`);
    const items = [swatch("for", "for the class (line below)")];
    if (pair.some((m) => m.about.signed)) items.push(swatch("against", "against it (dotted line)"));
    items.push(swatch("chosen", "selected, with its place"));
    if (pair.some((m) => selection(m).some((p) => p > 0 && p < 1))) items.push(swatch("tied", "tied for the last places"));
    if (pair.some((m) => !m.about.signed)) items.push(el("li", {}, "Methods marked “size only” do not tell for from against."));
    $("legend").replaceChildren(...items);
  }

  function drawPanel(letter, method, one, run) {
    const layout = layouts[one.layout], words = wordsOf(layout), chosen = selection(method), colour = colouring(method.values);
    const pieces = method.pieces ? method.pieces.slice(0, state.pieces) : [], places = placesOf(method.values);
    const ends = new Map();
    pieces.forEach(([first, second], i) => [first, second].forEach((side) => side.length && ends.set(side.at(-1), [...(ends.get(side.at(-1)) || []), i + 1])));
    const held = new Set(pieces.flatMap(([first, second]) => [...first, ...second]));
    const look = (at) => {
      const { side, share } = colour(at), picked = chosen[at] > 0;
      const classes = [side, picked ? (chosen[at] < 1 ? "tied" : "chosen") : "", held.has(at) ? "held" : ""].filter(Boolean).join(" ");
      const badge = method.pieces ? (ends.get(at) || []).join(",") : picked && state.mode === "fixed" ? places[at] : "";
      return { classes, style: { "--a": share.toFixed(3) }, title: `${words[at]}: ${tell(method.scores[at])}, place ${places[at]} of ${words.length}`, badge };
    };
    const picks = words.map((word, at) => at).filter((at) => chosen[at] > 0).sort((x, y) => places[x] - places[y]);
    const list = picks.slice(0, 12).map((at) => (chosen[at] < 1 ? `(${words[at]})` : words[at])).join(", ");
    const how = state.mode === "dynamic" ? `${plural(picks.length, "peak")}: ` : `Top ${state.k}: `;
    const summary = how + (list || "none") + (picks.length > 12 ? ` and ${picks.length - 12} more` : "") + (picks.some((at) => chosen[at] < 1) ? "; those in brackets tie for the last places" : "");
    const shape = `Attribution profile of ${method.about.title}: ${plural(words.length, "token")}, ${plural(method.peaks.length, "peak")}`;
    const width = Math.min(560, Math.max(240, (window.innerWidth >= 900 ? Math.min(window.innerWidth, 1216) / 2 : window.innerWidth) - 70));
    const kinds = [method.about.level === "token" ? "" : `${method.about.level}s, shared out over their tokens`, method.about.signed ? "" : "size only"].filter(Boolean);
    return el("section", { class: "panel", "aria-label": `Method ${letter}: ${method.about.title}`, "data-method": method.name },
      el("h2", {}, el("span", { class: "letter" }, letter), method.about.title, kinds.length ? el("small", {}, ` ${kinds.join(", ")}`) : null),
      el("p", { class: "summary" }, summary),
      el("div", { class: `words${method.pieces ? " linked" : ""}` }, drawText(layout, tasks[run.task].parts, look)),
      method.pieces ? drawPieces(pieces, words, method) : null,
      drawProfile({ words, scores: method.scores, peaks: method.peaks, selected: chosen, title: shape, width }));
  }

  function drawPieces(pieces, words, method) {
    if (!method.pieces.length) return el("p", { class: "summary" }, "This explanation has no piece.");
    const items = pieces.map(([first, second, score]) => el("li", {}, tellPlaces(words, first) || "–", second.length ? " ↔ " : "", tellPlaces(words, second), el("span", { class: "value" }, ` ${tell(score)}`)));
    return el("ol", { class: "pieces", "aria-label": `First ${method.about.level}s of ${method.about.title}` }, items);
  }

  function connect() {
    const { run, one, a, b } = settle();
    document.querySelectorAll("#panels .words.linked").forEach((box) => {
      const method = read(run, one, box.parentElement.dataset.method === a ? a : b);
      drawArcs(box, method.pieces.slice(0, state.pieces));
    });
    const box = document.querySelector("#humanbody .words.linked");
    if (box) drawArcs(box, one.relations);
  }

  function drawPeople(one, run) {
    const people = peopleOf(one), games = one.evidence || {}, layout = layouts[one.layout], parts = [];
    if (people) {
      const look = (at) => ({ classes: people.values[at] ? "marked" : "", style: { "--a": people.share[at].toFixed(3) }, badge: people.values[at] && people.of > 1 ? people.values[at] : "", title: `marked by ${people.values[at]} of ${people.of}` });
      parts.push(el("p", { class: "summary" }, `Words that ${people.of > 1 ? `any of ${people.of} people` : "people"} marked${people.of > 1 ? "; the number says how many did" : ""}.`));
      parts.push(el("div", { class: "words" }, drawText(layout, tasks[run.task].parts, look)));
    }
    const told = { hybrid: "The fragment of the predicted class, known by construction.", hit_target: "The subject of the verb.", hit_feat: "Nouns that have the predicted number.", manual: "Words marked as relevant." };
    for (const [game, places] of Object.entries(games)) {
      const inside = new Set(places), look = (at) => ({ classes: inside.has(at) ? "marked" : "", style: { "--a": 0.8 } });
      parts.push(el("p", { class: "summary" }, `Evidence: ${told[game] || game}`));
      parts.push(el("div", { class: "words" }, drawText(layout, tasks[run.task].parts, look)));
    }
    if (one.relations) {
      const inside = new Set(one.relations.flat(2)), look = (at) => ({ classes: inside.has(at) ? "held" : "" });
      parts.push(el("p", { class: "summary" }, `${plural(one.relations.length, "relation")} that people gave between spans.`));
      parts.push(el("div", { class: "words linked" }, drawText(layout, tasks[run.task].parts, look)));
    }
    $("human").hidden = !parts.length;
    $("humanhead").textContent = people || one.relations ? "What people say" : "Where the evidence lies";
    $("humanbody").replaceChildren(...parts);
  }

  function drawScores(run, one, [a, b]) {
    const key = (x, y) => [x.place, y.place].sort((p, q) => p - q).join("-"), people = peopleOf(one), rows = [];
    const head = (judge) => rows.push(el("tr", { class: "judge" }, el("th", { colspan: 6, scope: "colgroup" }, data.judges[judge])));
    const cell = (value, best, kind) => el("td", { class: [best ? "best" : "", kind || ""].join(" ").trim() || null }, best ? el("b", {}, tell(value)) : tell(value));
    const line = (name, values, means, better, n) => {
      const won = (pair, i) => better && pair[i] !== null && pair[1 - i] !== null && better * (pair[i] - pair[1 - i]) > 1e-9;
      const mark = better ? el("span", { class: "way", title: better > 0 ? "higher is better" : "lower is better" }, better > 0 ? " ↑" : " ↓") : null;
      rows.push(el("tr", { "data-measure": name[0] }, el("th", { scope: "row" }, name[1], mark), cell(values[0], won(values, 0)), cell(values[1], won(values, 1)), cell(means[0], won(means, 0), "mean"), cell(means[1], won(means, 1), "mean"), el("td", { class: "mean" }, n || "–")));
    };
    const both = (name, value, mean, n) => rows.push(el("tr", { "data-measure": name[0] }, el("th", { scope: "row" }, name[1]), el("td", { colspan: 2, class: "both" }, tell(value)), el("td", { colspan: 2, class: "both mean" }, tell(mean ?? null)), el("td", { class: "mean" }, n || "–")));
    const k = Math.min(state.k, state.most), table = (name) => run.pairs[name]?.[0][k - 1] ?? null;
    const withPeople = (m) => `${m.place}-people`, known = (found) => [a, b].map((m) => found[withPeople(m)]?.[1]).find(Boolean);
    head("agreement");
    both(["fixed", `A with B, top ${k}`], agree(a, b, k), table(key(a, b)), run.pairs[key(a, b)]?.[1]);
    both(["dynamic", "A with B, dynamic k"], agree(a, b, "dynamic"), run.dynamic[key(a, b)]?.[0], run.dynamic[key(a, b)]?.[1]);
    if (people) {
      line(["people_fixed", `with people, top ${k}`], [a, b].map((m) => agreeWithPeople(m, people, k)), [a, b].map((m) => table(withPeople(m))), 1, known(run.pairs));
      line(["people_dynamic", "with people, dynamic k"], [a, b].map((m) => agreeWithPeople(m, people, "dynamic")), [a, b].map((m) => run.dynamic[withPeople(m)]?.[0] ?? null), 1, known(run.dynamic));
    }
    const whole = { methods: `the paper's six methods, top ${settings.fixed_k}`, methods_dynamic: "the paper's six methods, dynamic k", people: "people with each other" };
    for (const [name, text] of Object.entries(whole)) if (one.facts?.[name] !== undefined) both([name, text], one.facts[name], run.facts[name], run.facts[name] === undefined ? null : run.explained);
    for (const judge of Object.keys(data.judges)) {
      const here = measures.filter((m) => m.judge === judge && [a, b].some((x) => one.judged[m.name]?.[x.place] != null || run.means[m.name]?.[x.place]));
      if (here.length) head(judge);
      for (const m of here) {
        const mean = [a, b].map((x) => run.means[m.name]?.[x.place] || null);
        line([m.name, m.title], [a, b].map((x) => one.judged[m.name]?.[x.place] ?? null), mean.map((x) => x && x[0]), m.better, mean.filter(Boolean)[0]?.[1]);
      }
    }
    const top = el("thead", {}, el("tr", {}, el("th", { rowspan: 2, scope: "col" }, "Score"), el("th", { colspan: 2, scope: "colgroup" }, "this text"), el("th", { colspan: 3, scope: "colgroup" }, "all texts: mean")),
      el("tr", {}, ...["A", "B", "A", "B", "n"].map((text) => el("th", { scope: "col" }, text))));
    return el("table", { class: "scores" }, el("caption", {}, `A: ${a.about.title}. B: ${b.about.title}. `, el("span", {}, "Bold: the better of the two. Arrows: ↑ higher is better, ↓ lower is.")), top, el("tbody", {}, rows));
  }

  function drawTokens() {
    const { run, one, a, b } = settle(), words = wordsOf(layouts[one.layout]), pair = [read(run, one, a), read(run, one, b)], people = peopleOf(one);
    const places = pair.map((m) => placesOf(m.values)), heads = ["Token", "A", "place", "B", "place", ...(people ? ["people"] : [])];
    const rows = words.map((word, i) => el("tr", {}, el("th", { scope: "row" }, word), ...pair.flatMap((m, j) => [el("td", {}, tell(m.scores[i])), el("td", {}, String(places[j][i]))]), people ? el("td", {}, `${people.values[i]} of ${people.of}`) : null));
    $("tokenbody").replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, heads.map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, rows)));
  }

  function move(by) {
    const shown = chosenRun().shown, to = shown.indexOf(chosenText()) + by;
    if (to >= 0 && to < shown.length) set({ text: shown[to].id });
  }
  function set(changes) {
    Object.assign(state, changes);
    draw();
  }

  function start() {
    const { profile } = data.about, shown = runs.reduce((sum, run) => sum + run.shown.length, 0);
    if (!runs.length) {
      $("lead").textContent = "Choose a text and two methods, and see what each judge says of them.";
      $("empty").textContent = `Nothing to show: the profile ${profile} has no explained texts here. attreval run --profile ${profile} makes them.`;
      $("empty").hidden = false;
      return;
    }
    const explained = runs.reduce((sum, run) => sum + run.explained, 0);
    $("lead").textContent = `Choose a text and two methods: what each says of the same prediction, which tokens it puts forward, and how each judge scores it. ${shown === explained ? `All ${shown}` : `${shown} of ${explained}`} explanations of texts in the profile ${profile}.`;
    $("measures").append(...measures.filter((m) => runs.some((run) => run.means[m.name])).flatMap((m) => [el("dt", {}, m.title), el("dd", {}, m.about)]));
    const { rule } = settings, notes = [
      "Tasks take turns, and within a task its models and seeds, each with the next of its texts, until 200 are taken or the page is full. The tables of texts lie in a random order.",
      "The means are those of the tables in the paper, over all texts of the run; “–” where a judge was not asked. Scores of this text are the ones they are made of.",
      `Agreement is computed on this page by the formulas of the package: ties by expectation, dynamic k by the rule “${rule.name}”${settings.people === "share" ? ", people by the share that marked a token" : ""}.${settings.ties === "random" ? " The tables of this profile break ties at random." : ""}`,
      ...(data.gaps.length ? [`Not here: ${data.gaps.join("; ")}.`] : []),
    ];
    $("notes").append(...notes.map((text) => el("p", {}, text)));
    $("all").hidden = false;
    $("task").onchange = (event) => set({ task: event.target.value, run: -1, text: "" });
    $("run").onchange = (event) => set({ run: Number(event.target.value) });
    $("text").onchange = (event) => set({ text: event.target.value });
    for (const letter of ["a", "b"]) $(letter).onchange = (event) => set({ [letter]: event.target.value });
    $("k").oninput = (event) => set({ k: Number(event.target.value) });
    $("pieces").oninput = (event) => set({ pieces: Number(event.target.value) });
    for (const mode of ["fixed", "dynamic"]) $(mode).onchange = () => set({ mode });
    $("previous").onclick = () => move(-1);
    $("next").onclick = () => move(1);
    $("choose").onsubmit = (event) => event.preventDefault();
    $("tokens").ontoggle = () => $("tokens").open && drawTokens();
    document.addEventListener("keydown", (event) => {
      const busy = event.target.closest?.("select, input, textarea, .scroll") || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
      if (busy || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      event.preventDefault();
      move(event.key === "ArrowLeft" ? -1 : 1);
    });
    addEventListener("hashchange", () => (readAddress(), draw()));
    let width = window.innerWidth;
    addEventListener("resize", () => (window.innerWidth !== width ? ((width = window.innerWidth), draw()) : connect()));
    readAddress();
    draw();
  }
  start();
})();
