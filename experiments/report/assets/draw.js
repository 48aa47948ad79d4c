// Pictures of a run: the context as blocks in its order, and the occupancy by turn.
// Everything is made node by node; no text is ever read as markup.

const KINDS = {
  head: ["H", "solid"],
  user: ["U", "rising"],
  assistant: ["A", "solid"],
  tool_call: ["C", "dots"],
  tool_result: ["R", "level"],
  summary: ["S", "falling"],
  placeholder: ["P", "crossed"],
  rationale: ["D", "upright"],
  trace: ["M", "dots"],
  instruction: ["I", "grid"],
  tombstone: ["T", "crossed"],
  other: ["?", "solid"],
};
const HATCHES = {
  solid: "",
  rising: "M0 8 8 0M-2 2 2 -2M6 10 10 6",
  falling: "M0 0 8 8M-2 6 2 10M6 -2 10 2",
  level: "M0 4H8",
  upright: "M4 0V8",
  grid: "M4 0V8M0 4H8",
  crossed: "M0 8 8 0M0 0 8 8",
  dots: "M1.5 2H3M5.5 6H7",
};
const HATCH_SIZE = 8;
const LETTER_ROOM = 13; // pixels of a block that its letter takes
const ROW_HEIGHT = 28;
const ROW_GAP = 5;
const STRIP_EDGE = { left: 6, right: 6, top: 20, bottom: 16 };

const drawnKind = (kind) => (Object.hasOwn(KINDS, kind) ? kind : "other");

function drawn(name, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function hatches() {
  const patterns = Object.entries(KINDS).map(([kind, [, hatch]]) =>
    drawn(
      "pattern",
      { id: `hatch-${kind}`, width: HATCH_SIZE, height: HATCH_SIZE, patternUnits: "userSpaceOnUse" },
      drawn("rect", { width: HATCH_SIZE, height: HATCH_SIZE, class: `kind-${kind}` }),
      drawn("path", { d: HATCHES[hatch], class: "hatch" }),
    ),
  );
  return drawn("defs", {}, ...patterns);
}

const rowsFor = (width) => (width >= 900 ? 9 : width >= 560 ? 13 : 20);

// Returns the rectangles that a stretch of tokens fills, in rows of `tokensPerRow` read like text.
function stretch(from, until, tokensPerRow, width) {
  const scale = width / tokensPerRow;
  const pieces = [];
  for (let row = Math.floor(from / tokensPerRow); row * tokensPerRow < until; row += 1) {
    const start = row * tokensPerRow;
    const begin = Math.max(from, start);
    const end = Math.min(until, start + tokensPerRow);
    if (end > begin) pieces.push({ x: (begin - start) * scale, y: row * (ROW_HEIGHT + ROW_GAP), width: (end - begin) * scale });
  }
  return pieces;
}

const outline = (pieces, inset = 0) =>
  pieces
    .map(({ x, y, width }) => {
      const across = Math.max(width - 2 * inset, 0.5);
      return `M${(x + inset).toFixed(1)} ${y + inset}h${across.toFixed(1)}v${ROW_HEIGHT - 2 * inset}h${-across.toFixed(1)}z`;
    })
    .join("");

// One block of the context; `span` is a row of the table of spans, read into an object.
function block(span, pieces, facts) {
  const [letter] = KINDS[drawnKind(span.kind)];
  const widest = pieces.reduce((best, piece) => (piece.width > best.width ? piece : best));
  const group = drawn("g", { class: "block", role: "img", tabindex: -1, "aria-label": facts.label });
  group.append(
    drawn("path", { class: "body", d: outline(pieces), fill: `url(#hatch-${drawnKind(span.kind)})` }),
  );
  if (facts.isHeld) group.append(drawn("path", { class: "held", d: outline(pieces, 2) }));
  if (facts.isImmutable) group.append(drawn("path", { class: "held this-turn", d: outline(pieces, 5) }));
  if (widest.width >= LETTER_ROOM) {
    const text = drawn("text", { class: "letter", x: widest.x + widest.width / 2, y: widest.y + 17 });
    text.textContent = letter;
    group.append(text);
  }
  group.append(
    drawn("rect", {
      class: "age",
      x: widest.x + 1,
      y: widest.y + ROW_HEIGHT - 5,
      width: Math.max((widest.width - 2) * facts.ageShare, 0),
      height: 3,
    }),
  );
  if (facts.isNew)
    group.append(
      drawn("path", { class: "new", d: `M${pieces[0].x + 1} ${pieces[0].y + 1}h6l-6 6z` }),
    );
  return group;
}

// Fills the picture of the context; returns its blocks in order, and the frame that shows the chosen one.
function drawBlocks(picture, { spans, capacity, window, reserve }) {
  const width = Math.max(picture.clientWidth, 200);
  const tokensPerRow = capacity / rowsFor(width);
  const blocks = [];
  let at = 0;
  for (const { span, facts } of spans) {
    const until = at + span.tokens;
    if (span.tokens > 0) {
      const made = block(span, stretch(at, until, tokensPerRow, width), facts);
      made.place = blocks.length;
      made.told = { span, facts };
      blocks.push(made);
    }
    at = until;
  }
  const filled = at;
  const behind = [];
  if (filled < window) behind.push(drawn("path", { class: "free", d: outline(stretch(filled, window, tokensPerRow, width)) }));
  const sendable = Math.max(filled, window - reserve);
  if (sendable < window) behind.push(drawn("path", { class: "reserve", d: outline(stretch(sendable, window, tokensPerRow, width)) }));
  const row = Math.ceil(window / tokensPerRow) - 1;
  const x = ((window - row * tokensPerRow) * width) / tokensPerRow;
  const y = row * (ROW_HEIGHT + ROW_GAP);
  const limit = drawn("path", { class: "limit", d: `M${Math.min(x, width - 1.5)} ${y - 2}v${ROW_HEIGHT + 4}` });
  const rows = Math.ceil(Math.max(filled, window) / tokensPerRow);
  const height = rows * (ROW_HEIGHT + ROW_GAP);
  picture.setAttribute("viewBox", `0 -3 ${width} ${height + 3}`);
  picture.setAttribute("height", height + 3);
  const frame = drawn("path", { class: "frame" });
  picture.replaceChildren(hatches(), ...behind, ...blocks, limit, frame);
  return { blocks, frame };
}

function legendOf(kinds) {
  const entry = (words, ...shapes) => {
    const item = document.createElement("li");
    item.append(drawn("svg", { viewBox: `0 0 26 ${ROW_HEIGHT}`, "aria-hidden": "true" }, ...shapes), words);
    return item;
  };
  const whole = [{ x: 0, y: 0, width: 26 }];
  const plain = () => drawn("path", { class: "free", d: outline(whole) });
  const piece = (kind) => {
    const letter = drawn("text", { x: 13, y: 19, class: "letter" });
    letter.textContent = KINDS[kind][0];
    return drawn("g", { class: "block" }, drawn("path", { d: outline(whole), fill: `url(#hatch-${kind})` }), letter);
  };
  const marked = (shape) => drawn("g", { class: "block" }, drawn("path", { class: "kind-other", d: outline(whole) }), shape);
  return [
    ...kinds.map((kind) => entry(kind.replaceAll("_", " "), piece(kind))),
    entry("fixed, or never summarised", marked(drawn("path", { class: "held", d: outline(whole, 2) }))),
    entry("immutable this turn", marked(drawn("path", { class: "held this-turn", d: outline(whole, 2) }))),
    entry("new this turn", marked(drawn("path", { class: "new", d: "M1 1h10l-10 10z" }))),
    entry("age (full width: since the first turn)", marked(drawn("rect", { class: "age", x: 1, y: ROW_HEIGHT - 7, width: 14, height: 5 }))),
    entry("free, then the output reserve", plain()),
  ];
}

// Draws the strip once a run and size; returns what moves its cursor and what finds a turn by place.
function drawStrip(picture, turns, rewrites, capacity) {
  const width = Math.max(picture.clientWidth, 200);
  const height = Math.max(picture.clientHeight, 60);
  const { left, right, top, bottom } = STRIP_EDGE;
  const across = (turn) => left + (turns.length > 1 ? turn / (turns.length - 1) : 0.5) * (width - left - right);
  const up = (tokens) => height - bottom - (tokens / capacity) * (height - top - bottom);
  const line = (name, of) =>
    drawn("polyline", {
      class: name,
      points: turns.map((turn, place) => `${across(place).toFixed(1)},${up(of(turn)).toFixed(1)}`).join(" "),
    });
  const label = (words, x, y, anchor) => {
    const text = drawn("text", { x, y, "text-anchor": anchor });
    text.textContent = words;
    return text;
  };
  const marks = drawn("g", { class: "marks" });
  turns.forEach((turn, place) => {
    for (const number of turn.rewrites) {
      const { committed, outcome } = rewrites[number];
      const sign = !committed ? "×" : outcome === "committed" ? "●" : "○";
      const mark = label(sign, across(place), 12, "middle");
      marks.append(mark);
    }
  });
  const cursor = drawn("path", { class: "cursor" });
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.replaceChildren(
    line("window", (turn) => turn.window),
    line("true", (turn) => turn.tokens),
    line("believed", (turn) => turn.believed_tokens),
    marks,
    label(`turn ${turns[0].turn}`, left, height - 3, "start"),
    label(`turn ${turns.at(-1).turn}`, width - right, height - 3, "end"),
    cursor,
  );
  return {
    moveTo: (place) => cursor.setAttribute("d", `M${across(place).toFixed(1)} ${top - 4}V${height - bottom + 2}`),
    turnAt: (x) => Math.round(((x - left) / (width - left - right)) * (turns.length - 1)),
  };
}
