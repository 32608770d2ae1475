// Choosing: the page's state lies in the address (#task=...&text=...), so that what is seen can be linked to.

(() => {
  const $ = (id) => document.getElementById(id);
  const state = { task: "", run: 0, text: "", a: "", b: "", k: settings.fixed_k, mode: "fixed", features: 3 };
  const SUGGESTED_PAIRS = [
    ["lime", "partition_shap"],
    ["limsse_logit", "lrp"],
    ["integrated_gradients_zero", "deeplift"],
    ["kernel_shap", "bivariate_shapley_spans"],
  ];

  const chosenRun = () => runs[state.run];
  const chosenText = () => chosenRun().texts.find((item) => item.id === state.text) || chosenRun().texts[0];
  const within = (value, least, most) => Math.max(least, Math.min(most, Math.round(value)));

  // Bring the state to something that there is, nearest to what was asked for.
  function resolveState() {
    if (!Object.hasOwn(tasks, state.task)) state.task = runs[0].task;
    if (runs[state.run]?.task !== state.task) state.run = runs.findIndex((run) => run.task === state.task);
    const run = chosenRun(), item = chosenText(), here = availableOn(item, run);
    const most = within(Math.min(settings.largest_k, wordsOf(layouts[item.layout]).length), 1, Infinity);
    state.text = item.id;
    state.k = within(state.k || settings.fixed_k, 1, settings.largest_k);
    state.features = within(state.features, 0, 12);
    if (!["fixed", "dynamic"].includes(state.mode)) state.mode = "fixed";
    // what nobody has chosen, or this text does not have, is filled with methods that say something
    const suggested = SUGGESTED_PAIRS.find((pair) => pair.every((name) => here.includes(name))) || [];
    const usual = [...suggested, ...here.filter((name) => name !== "random"), ...here];
    const a = here.includes(state.a) ? state.a : usual[0];
    const b = here.includes(state.b) ? state.b : usual.find((name) => name !== a) || a;
    const names = [a, b], pair = names.map((name) => readMethod(run, item, name));
    return { run, item, here, most, k: Math.min(state.k, most), names, pair };
  }

  function readAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const name of ["task", "text", "a", "b", "mode"]) if (asked.get(name)) state[name] = asked.get(name);
    for (const name of ["k", "features"]) if (asked.get(name)) state[name] = Number(asked.get(name)) || 0;
    if (asked.get("model")) {
      const same = (run) => run.task === asked.get("task") && run.model === asked.get("model");
      const found = runs.findIndex((run) => same(run) && String(run.seed) === asked.get("seed"));
      state.run = found >= 0 ? found : runs.findIndex(same);
    }
  }

  function writeAddress([a, b]) {
    const { task, text, k, mode, features } = state, { model, seed } = chosenRun();
    const hash = new URLSearchParams({ task, model, seed, text, a, b, mode, k, features });
    history.replaceState(null, "", `#${hash}`);
  }

  function fill(select, options, value) {
    select.replaceChildren(...options.map(([key, text]) => el("option", { value: key }, text)));
    select.value = value;
  }

  function shorten(item) {
    const text = layouts[item.layout][0].join(" / ").replace(/\s+/g, " ").trim();
    return text.length > 60 ? `${text.slice(0, 58)}…` : text;
  }

  function drawControls({ run, item, here, most, k, names, pair }) {
    const at = run.texts.indexOf(item), options = here.map((name) => [name, methods[name].title]);
    fill($("task"), Object.entries(tasks).map(([name, task]) => [name, task.short]), state.task);
    fill($("run"), runs.flatMap((r, i) => (r.task === state.task ? [[i, runTitle(r)]] : [])), state.run);
    fill($("text"), run.texts.map((item, i) => [item.id, `${i + 1}. ${shorten(item)}`]), item.id);
    fill($("a"), options, names[0]);
    fill($("b"), options, names[1]);
    $("previous").disabled = at === 0;
    $("next").disabled = at === run.texts.length - 1;
    $("k").max = most;
    $("k").value = $("kout").value = k;
    $("k").disabled = state.mode === "dynamic";
    $(state.mode).checked = true;
    $("featurebox").hidden = !pair.some((method) => method.features);
    $("features").value = $("pout").value = state.features;
  }

  function predictionText({ run, item }) {
    const labels = tasks[run.task].labels, sure = item.probability === null ? "" : ` with probability ${item.probability.toFixed(2)}`;
    const place = `Text ${run.texts.indexOf(item) + 1} of ${run.texts.length}.`;
    const said = `${runTitle(run)} predicts ${labels[item.predicted]}${sure}; labelled ${labels[item.label]}.`;
    const other = item.target === item.predicted ? "" : ` The scores explain the label, ${labels[item.target]}.`;
    return `${place} ${said}${other}`;
  }

  function draw() {
    const shown = resolveState(), { run, item, k, names, pair } = shown, people = drawPeople(item, run);
    const set = { ...state, k };
    drawControls(shown);
    $("what").textContent = predictionText(shown);
    $("legend").replaceChildren(...drawLegend(pair, set));
    $("panels").replaceChildren(...pair.map((method, i) => drawPanel("AB"[i], method, item, run, set)));
    $("human").hidden = !people.length;
    $("humanhead").textContent = item.people || item.relations ? "What people say" : "Where the evidence lies";
    $("humanbody").replaceChildren(...people);
    $("scores").replaceChildren(drawMetricTable(run, item, pair, k));
    if ($("tokens").open) $("tokenbody").replaceChildren(drawTokens(item, pair));
    connect();
    writeAddress(names);
  }

  // Curves follow the text as it breaks into lines, so they are drawn once it stands.
  function connect() {
    const { item, pair } = resolveState();
    document.querySelectorAll("#panels .panel").forEach((panel, i) => {
      const box = panel.querySelector(".words.linked");
      if (box) drawArcs(box, pair[i].features.slice(0, state.features));
    });
    const box = document.querySelector("#humanbody .words.linked");
    if (box) drawArcs(box, item.relations);
  }

  function set(changes) {
    Object.assign(state, changes);
    draw();
  }

  function move(by) {
    const shown = chosenRun().texts, to = shown.indexOf(chosenText()) + by;
    if (to >= 0 && to < shown.length) set({ text: shown[to].id });
  }

  function onKey(event) {
    const busy = event.target.closest?.("select, input, textarea, .scroll");
    if (busy || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    event.preventDefault();
    move(event.key === "ArrowLeft" ? -1 : 1);
  }

  function listen() {
    $("task").onchange = (event) => set({ task: event.target.value, run: -1, text: "" });
    $("run").onchange = (event) => set({ run: Number(event.target.value) });
    $("text").onchange = (event) => set({ text: event.target.value });
    for (const letter of ["a", "b"]) $(letter).onchange = (event) => set({ [letter]: event.target.value });
    for (const name of ["k", "features"]) $(name).oninput = (event) => set({ [name]: Number(event.target.value) });
    for (const mode of ["fixed", "dynamic"]) $(mode).onchange = () => set({ mode });
    $("previous").onclick = () => move(-1);
    $("next").onclick = () => move(1);
    $("choose").onsubmit = (event) => event.preventDefault();
    $("tokens").ontoggle = () => $("tokens").open && draw();
    document.addEventListener("keydown", onKey);
    addEventListener("hashchange", () => (readAddress(), draw()));
    let width = window.innerWidth;
    addEventListener("resize", () => {
      if (window.innerWidth === width) return connect();
      width = window.innerWidth;
      draw();
    });
  }

  function drawNotes() {
    const { rule, people, ties } = settings;
    const asked = metrics.filter((m) => runs.some((run) => run.means[m.name]));
    $("definitions").append(...asked.flatMap((m) => [el("dt", {}, m.title), el("dd", {}, m.about)]));
    const notes = [
      "Tasks take turns, and within a task its models and seeds, each with the next of its texts, until 200 are " +
        "taken or the page is full. The tables of texts lie in a random order.",
      "The means are those of the paper's tables, over n texts of the run; “–” where a metric was not computed, or " +
        "no value of a single text is kept.",
      "Agreement is computed on this page by the formulas of the package: ties by expectation, dynamic k by the " +
        `rule “${rule.name}”${people === "share" ? ", people by the share that marked a token" : ""}.` +
        (ties === "random" ? " The tables of this profile break ties at random." : ""),
      data.gaps.length ? `Not here: ${data.gaps.join("; ")}.` : "",
    ];
    $("notes").append(...notes.filter(Boolean).map((text) => el("p", {}, text)));
  }

  function start() {
    const sum = (count) => runs.reduce((total, run) => total + count(run), 0), { profile } = data.about;
    const shown = sum((run) => run.texts.length), explained = sum((run) => run.explained);
    const share = shown === explained ? `All ${shown}` : `${shown} of ${explained}`;
    $("lead").textContent =
      "Choose a text and two methods: what each says of the same prediction, which tokens it puts forward, and how " +
      `every metric scores it. ${share} explained texts of the profile ${profile}.`;
    $("all").hidden = false;
    drawNotes();
    listen();
    readAddress();
    draw();
  }

  window.explorer = { data, state, draw, readMethod, humanMarks, agreement };
  Object.assign(window.explorer, { localMaxima, agreementWithShare, selectionWithShare });
  start();
})();
