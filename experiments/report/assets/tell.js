// Words of a run: its turns, spans, ledger entries and verdicts. Text nodes only.

const counted = (number) => (typeof number === "number" ? number.toLocaleString("en-US") : String(number));
const signed = (number) => (number > 0 ? `+${counted(number)}` : counted(number).replace("-", "−"));
const tokens = (number) => `${counted(number)} ${number === 1 ? "token" : "tokens"}`;
const spaced = (name) => name.replaceAll("_", " ");
const LISTED = 12; // spans that are listed before the rest is folded away

function made(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function terms(pairs) {
  const list = made("dl", { class: "terms" });
  for (const [name, ...text] of pairs) list.append(made("div", {}, made("dt", {}, name), made("dd", {}, ...text)));
  return list;
}

// What the run writes itself is counted down from -1, which is the head.
const spanName = ({ kind, id }) =>
  kind === "head" ? "head" : id < 0 ? `own ${spaced(kind)} ${-id}` : `${spaced(kind)} ${id}`;
const spanShort = (span) => `${spanName(span)} (${tokens(span.tokens)})`;

// Whatever a turn says of one span.
function factsOf(span, turn, isNew, isImmutable) {
  const age = Math.max(turn.turn - span.born, 0);
  const isHeld = span.marks.length > 0;
  const marks = [
    ...span.marks.map((mark) => (mark === "fixed" ? "fixed: nothing may touch it" : "protected: never summarised")),
    ...(isImmutable ? ["immutable until this turn ends"] : []),
  ];
  const parts = [spanShort(span), `born in turn ${span.born}, ${counted(age)} ${age === 1 ? "turn" : "turns"} old`, ...marks];
  if (isNew) parts.push("new this turn");
  return { age, ageShare: turn.turn ? age / turn.turn : 0, isHeld, isImmutable, isNew, marks, label: parts.join(", ") };
}

function tellBlock({ span, facts }) {
  const pairs = [
    ["Size", tokens(span.tokens)],
    ["Age", `born in turn ${span.born}; ${counted(facts.age)} turns old${facts.isNew ? "; new this turn" : ""}`],
    ["Written by", span.provenance],
    ["Marks", facts.marks.join("; ") || "none"],
  ];
  if (span.constraint !== false) pairs.push(["Constraint", span.constraint ? "yes, by its tag" : "unclassified, so it counts as one"]);
  if (span.doubt) pairs.push(["In doubt", tokens(span.doubt)]);
  if (span.replaces.length) pairs.push(["Stands for", listOf(span.replaced)]);
  return [made("h4", {}, spanName(span)), terms(pairs)];
}

function stateOf(run, place) {
  const turn = run.turns[place];
  const rewrites = turn.rewrites.map((number) => run.rewrites[number]);
  const told = rewrites.map(({ number, outcome, entry }) => `Rewrite ${number} ${spaced(outcome)}, net ${signed(entry.net)}.`);
  const believed =
    turn.believed_tokens === turn.tokens ? "believed the same" : `believed ${counted(turn.believed_tokens)}`;
  const end = place === run.turns.length - 1 ? ` The run ends here; outcome: ${run.outcome}.` : "";
  return `Turn ${turn.turn} of ${run.turns.at(-1).turn}: ${tokens(turn.tokens)}, ${believed}; ${turn.occupancy_pct.toFixed(1)}% of the window of ${counted(turn.window)}. ${told.join(" ")}${end}`;
}

function tellTurn(run, turn, gone, came) {
  const difference = turn.believed_tokens - turn.tokens;
  const pairs = [
    ["Time", `${turn.time_s.toFixed(1)} s`],
    ["True", tokens(turn.tokens)],
    ["Believed", `${tokens(turn.believed_tokens)}${difference ? ` (${signed(difference)})` : ""}`],
    ["Epoch of premises", counted(turn.epoch)],
    ["Confidence", turn.confidence.toFixed(3)],
  ];
  if (turn.user_turn) pairs.push(["User turn", counted(turn.user_turn)]);
  if (turn.constraints_held !== null) pairs.push(["Constraints held", counted(turn.constraints_held)]);
  pairs.push(["Came", listOf(came.map(spanShort))], ["Went", listOf(gone.map(spanShort))]);
  if (turn.events.length) {
    const told = turn.events.map(([kind, detail, number]) =>
      [spaced(kind), detail, number ? tokens(number) : ""].filter(Boolean).join(": "),
    );
    pairs.push(["Events", listOf(told)]);
  }
  return terms(pairs);
}

function listOf(words) {
  if (!words.length) return "nothing";
  if (words.length <= LISTED) return words.join("; ");
  return made("details", {}, made("summary", {}, `${counted(words.length)} of them`), words.join("; "));
}

function tellRewrite(rewrite, spans) {
  const { entry } = rewrite;
  const good = rewrite.committed && entry.net > 0;
  const article = made("article", { class: "card" });
  article.append(
    made(
      "h4",
      {},
      `Rewrite ${rewrite.number}: `,
      made("span", { class: good ? "good" : "bad" }, `${spaced(rewrite.outcome)} at ${rewrite.stage}`),
    ),
    ledgerTable(rewrite),
  );
  if (rewrite.verdicts.length) article.append(verdictsOf(rewrite.verdicts));
  if (rewrite.staged.length) {
    const told = rewrite.staged.map(([sources, put]) => {
      const from = sources.map((source) => spanShort(spans[source])).join(" + ");
      return `${from} → ${put === null ? "nothing" : spanShort(spans[put])}`;
    });
    article.append(terms([[rewrite.committed ? "Replaced" : "Would replace", listOf(told)]]));
  }
  const own = rewrite.put_in.filter((place) => !rewrite.staged.some(([, put]) => put === place));
  if (own.length) article.append(terms([["Wrote besides", listOf(own.map((place) => spanShort(spans[place])))]]));
  article.append(made("details", {}, made("summary", {}, "In words"), terms(rewrite.words)));
  return article;
}

function ledgerTable({ committed, entry }) {
  const believedFreed = committed ? entry.estimated_saving : 0;
  const believedCost = believedFreed - entry.believed_net;
  const cell = (text, attributes = {}) => made("td", { class: "number", ...attributes }, text);
  const row = (name, ...cells) => made("tr", {}, made("th", { scope: "row" }, name), ...cells);
  const head = made(
    "tr",
    {},
    made("th", { scope: "col" }, "tokens"),
    made("th", { scope: "col", class: "number" }, "believed"),
    made("th", { scope: "col", class: "number" }, "true"),
  );
  return made(
    "div",
    { class: "scroll", role: "region", tabindex: 0, "aria-label": "Ledger entry" },
    made(
      "table",
      {},
      made("caption", {}, "Ledger entry"),
      made("thead", {}, head),
      made(
        "tbody",
        {},
        row("freed", cell(counted(believedFreed)), cell(counted(entry.freed))),
        row("− rationale and records", cell(`− ${counted(believedCost)} charged`, { rowspan: 2 }), cell(`− ${counted(entry.rewrite_cost)}`)),
        row("− measurement", cell(`− ${counted(entry.measurement_cost)}`)),
        row("= net", cell(signed(entry.believed_net)), cell(signed(entry.net))),
      ),
    ),
  );
}

// Who had nothing to say is named in one line, so that what stands against a rewrite is not lost among it.
function verdictsOf(verdicts) {
  const list = made("ul", { class: "verdicts" });
  const silent = new Map();
  for (const { phase, gate, accepted, reason, refusal, figures } of verdicts) {
    if (accepted && !reason) {
      silent.set(phase, [...(silent.get(phase) ?? []), gate]);
      continue;
    }
    const chips = made("span", { class: "figures" });
    for (const [name, value] of Object.entries(figures))
      chips.append(made("span", {}, `${spaced(name)} `, made("b", {}, counted(value))));
    const word = made("span", { class: accepted ? "good" : "bad" }, accepted ? "accepts" : "refuses");
    const head = made("div", {}, `at ${phase}, ${gate} `, word, refusal ? ` with ${refusal}` : "");
    list.append(made("li", {}, head, made("div", {}, reason), chips));
  }
  for (const [phase, gates] of silent) list.append(made("li", { class: "note" }, `at ${phase}, no objection: ${gates.join(", ")}`));
  return made("div", {}, made("h5", {}, "Verdicts"), list);
}
