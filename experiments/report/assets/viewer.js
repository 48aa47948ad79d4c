// The run viewer: which run, turn and block are shown, and how keys, buttons, slider and strip move them.

const viewer = document.getElementById("viewer");

function startViewer() {
  const at = (name) => document.getElementById(`viewer-${name}`);
  const [body, choice, slider, state, strip, picture] = ["body", "run", "turn", "state", "strip", "blocks"].map(at);
  const runs = new Map();
  let run, place, cursor, blocks, frame, chosen;

  // Reads a run once: spans as objects, and the order of the context at the end of each turn.
  function read(number) {
    if (!runs.has(number)) {
      const frames = JSON.parse(document.getElementById(`run-${number}`).textContent);
      const { columns, rows } = frames.spans;
      const spans = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])));
      const names = new Map(spans.map((span) => [span.id, spanName(span)]));
      for (const span of spans) span.replaced = span.replaces.map((id) => names.get(id) ?? `span ${id}`);
      let order = [];
      const orders = frames.turns.map(({ gone, came }) => {
        const leaving = new Set(gone);
        order = order.filter((one) => !leaving.has(one));
        for (const [where, ...coming] of came) order.splice(where, 0, ...coming);
        return order.slice();
      });
      const capacity = Math.max(...frames.turns.map((turn) => Math.max(turn.window, turn.tokens)));
      const kinds = Object.keys(KINDS).filter((kind) => spans.some((span) => drawnKind(span.kind) === kind));
      runs.set(number, { ...frames, spans, orders, capacity, kinds });
    }
    return runs.get(number);
  }

  const reachable = () => [...body.querySelectorAll("[tabindex='0'], summary")];
  const nameOf = (node) => (node.getAttribute("aria-label") ?? node.textContent).replace(/[\d,]+/g, "");

  // Makes a change; a focus that it takes away goes to what then has the same name but for its numbers, or
  // else to the viewer.
  function keepingFocus(change) {
    const holder = document.activeElement;
    const alike = () => reachable().filter((node) => nameOf(node) === nameOf(holder));
    const place = alike().indexOf(holder);
    const wasOpen = holder.parentElement?.open;
    change();
    if (holder.isConnected || body.contains(document.activeElement)) return;
    const heir = alike().slice(0, place + 1).at(-1) ?? viewer;
    if (heir.matches("summary")) heir.parentElement.open = wasOpen;
    heir.focus({ preventScroll: true });
  }

  function show() {
    const turn = run.turns[place];
    const order = run.orders[place];
    const before = new Set(place ? run.orders[place - 1] : []);
    const now = new Set(order);
    const immutable = new Set(turn.immutable);
    state.textContent = stateOf(run, place);
    slider.value = place;
    slider.setAttribute("aria-valuetext", `turn ${turn.turn}`);
    cursor.moveTo(place);
    const hadFocus = picture.contains(document.activeElement);
    ({ blocks, frame } = drawBlocks(picture, {
      spans: order.map((one) => {
        const span = run.spans[one];
        return { span, facts: factsOf(span, turn, !before.has(one), immutable.has(one)) };
      }),
      capacity: run.capacity,
      window: turn.window,
      reserve: run.output_reserve,
    }));
    choose(Math.min(chosen, blocks.length - 1), hadFocus);
    at("turn-facts").replaceChildren(
      tellTurn(
        run,
        turn,
        [...before].filter((one) => !now.has(one)).map((one) => run.spans[one]),
        order.filter((one) => !before.has(one)).map((one) => run.spans[one]),
      ),
    );
    const rewrites = turn.rewrites.map((number) => tellRewrite(run.rewrites[number], run.spans));
    at("rewrites").replaceChildren(...(rewrites.length ? rewrites : [made("p", { class: "note" }, "None.")]));
    for (const button of viewer.querySelectorAll("[data-step]"))
      button.setAttribute("aria-disabled", steps[button.dataset.step]() === place); // it keeps its focus
  }

  // Makes one block the one that is told and that the Tab key reaches.
  function choose(which, takesFocus) {
    blocks[chosen]?.setAttribute("tabindex", -1);
    chosen = Math.max(which, 0);
    const block = blocks[chosen];
    if (!block) {
      at("facts").replaceChildren(made("p", {}, "The context is empty."));
      return;
    }
    block.setAttribute("tabindex", 0);
    frame.setAttribute("d", block.querySelector(".body").getAttribute("d"));
    at("facts").replaceChildren(...tellBlock(block.told));
    if (takesFocus) block.focus({ preventScroll: true });
  }

  function drawRun() {
    // Hatches are painted where they are first used, so the picture comes before its legend.
    cursor = drawStrip(strip, run.turns, run.rewrites, run.capacity);
    show();
    at("legend").replaceChildren(...legendOf(run.kinds));
  }

  function openRun(number) {
    run = read(number);
    place = 0;
    chosen = 0;
    slider.max = run.turns.length - 1;
    strip.setAttribute("aria-label", `Occupancy of ${run.turns.length} turns with ${run.rewrites.length} rewrites; step with the slider`);
    at("note").textContent =
      `${run.scenario} under ${run.policy}, seed ${run.seed.join(", ")}; outcome: ${run.outcome}` +
      (run.agents > 1 ? `; the first of ${run.agents} agents` : "");
    drawRun();
  }

  function goTo(turn) {
    const there = Math.min(Math.max(turn, 0), run.turns.length - 1);
    if (there === place) return;
    place = there;
    keepingFocus(show);
  }

  const found = (turn) => (turn < 0 ? place : turn);
  const rewritten = (turn) => turn.rewrites.length > 0;
  const steps = {
    previous: () => Math.max(place - 1, 0),
    next: () => Math.min(place + 1, run.turns.length - 1),
    "previous-rewrite": () => found(run.turns.slice(0, place).findLastIndex(rewritten)),
    "next-rewrite": () => found(run.turns.findIndex((turn, index) => index > place && rewritten(turn))),
    first: () => 0,
    last: () => run.turns.length - 1,
  };
  const keys = {
    ArrowLeft: "previous",
    ArrowRight: "next",
    Home: "first",
    End: "last",
    n: "next-rewrite",
    p: "previous-rewrite",
  };

  viewer.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, select, textarea");
    const region = event.target.closest(".scroll");
    const isScrolling = region && region.scrollWidth > region.clientWidth && event.key.startsWith("Arrow");
    if (isTyping || isScrolling || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (Object.hasOwn(keys, event.key)) goTo(steps[keys[event.key]]());
    else if (event.key === "j") choose(Math.min(chosen + 1, blocks.length - 1), true);
    else if (event.key === "k") choose(chosen - 1, true);
    else return;
    event.preventDefault();
  });
  viewer.addEventListener("click", (event) => {
    const step = event.target.closest("[data-step]")?.dataset.step;
    if (step) goTo(steps[step]());
  });
  // A pointer that rests while the picture changes under it has not chosen: pointermove, not pointerover.
  // The picture itself must not listen to focusin: a drawing that does is a stop of the Tab key.
  for (const kind of ["pointermove", "focusin", "click"])
    viewer.addEventListener(kind, (event) => {
      const block = event.target.closest("#viewer-blocks .block");
      if (block && block.place !== chosen) choose(block.place, false);
    });
  strip.addEventListener("click", (event) => goTo(cursor.turnAt(event.clientX - strip.getBoundingClientRect().left)));
  slider.addEventListener("input", () => goTo(Number(slider.value)));
  choice.addEventListener("change", () => openRun(Number(choice.value)));

  body.hidden = false;
  openRun(Number(choice.value));
  let width = picture.clientWidth;
  new ResizeObserver(() => {
    if (picture.clientWidth === width) return; // what is drawn changes the height only
    width = picture.clientWidth;
    keepingFocus(drawRun);
  }).observe(picture);
}

if (viewer) startViewer();
