// The language of conditions on frames, as in mapgauge/results/query.py. One table of cases tests both.

const KINDS = { number: "a number", count: "a whole number", text: "text", flag: "true or false" };
const UNORDERED = ["text", "flag"];
const COMPARE = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};
const DEEPEST = 50; // nested parentheses
const LONGEST = 10000; // characters; as in query.py
const LETTER = "[\\p{L}\\p{N}_]";
// Digits are never followed by a digit. Otherwise the time for digits before a letter grows with their square.
const DIGITS = "\\d+(?!\\d)";
const SCAN = new RegExp(
  `(?<space>\\s+)|(?<number>[+-]?(?:${DIGITS}(?:\\.(?:${DIGITS})?)?|\\.${DIGITS})(?:[eE][+-]?${DIGITS})?(?!${LETTER}|\\.))` +
    `|(?<name>[\\p{L}_]${LETTER}*(?:[:@.]${LETTER}+)*)|"(?<quoted>[^"]+)"|'(?<text>(?:[^']|'')*)'|(?<sign><=|>=|!=|==|[=<>(),])`,
  "uy",
);

const BEGINS_AS_NUMBER = /^[+-]?[0-9][^\s(),=<>!'"]{0,39}(?![^\s(),=<>!'"])/;

class InvalidQuery extends Error {
  constructor(what, text, place) {
    super(what);
    this.place = place;
    this.pointer = text === null ? what : `${what}\n  ${text}\n  ${" ".repeat(place)}^`;
  }
}

// The words of a condition, each with its kind, its text and its place.
function wordsOf(text) {
  const words = [];
  for (let place = 0; place < text.length; place = SCAN.lastIndex) {
    SCAN.lastIndex = place;
    const match = SCAN.exec(text);
    if (!match) {
      const quote = `'"`.includes(text[place]);
      const digits = text.slice(place).match(BEGINS_AS_NUMBER);
      if (!quote && digits)
        throw new InvalidQuery(`${digits[0]} is not a number. Put text in quotes: '${digits[0]}'`, text, place);
      throw new InvalidQuery(quote ? "this quote is not closed" : `unexpected '${text[place]}'`, text, place);
    }
    const [kind, word] = Object.entries(match.groups).find(([, value]) => value !== undefined);
    const plain = kind === "text" ? word.replaceAll("''", "'") : word === "==" ? "=" : word;
    if (kind !== "space") words.push({ kind: kind === "quoted" ? "name" : kind, text: plain, place });
  }
  return [...words, { kind: "end", text: "the end", place: text.length }];
}

const quotedWord = (word) => (word.kind === "end" ? word.text : `'${word.text}'`);
const isName = (word, ...names) => word.kind === "name" && names.includes(word.text.toLowerCase());

// Whether a condition holds for each of `count` frames. `columns` has `named`, which returns the kind and the values of a
// column, and `known`, the names for messages. Values that do not exist are null or NaN.
function holdsFor(text, columns, count) {
  if (text.length > LONGEST) {
    const counts = [LONGEST, text.length].map((number) => number.toLocaleString("en"));
    throw new InvalidQuery(`a condition has at most ${counts[0]} characters, got ${counts[1]}`, null, 0);
  }
  const words = wordsOf(text);
  let next = 0;
  const fail = (what, word) => {
    throw new InvalidQuery(what, text, word.place);
  };
  const taken = (signs, name) => {
    const word = words[next];
    const fits = (word.kind === "sign" && signs.includes(word.text)) || isName(word, name);
    return fits ? words[next++] : null;
  };
  const operand = (what = "a value", kinds = ["number", "text", "name"]) => {
    const word = words[next++];
    if (!kinds.includes(word.kind) || isName(word, "and", "or", "not", "in")) fail(`expected ${what}, got ${quotedWord(word)}`, word);
    return word;
  };
  const need = (sign, what, at) => taken([sign]) ?? fail(`expected ${what}, got ${quotedWord(words[next])}`, at ?? words[next]);

  // The parser reads the whole condition before columns are looked up, so that its errors come first.
  function joined(word, depth) {
    const parts = [];
    while (!parts.length || taken([], word)) parts.push(word === "or" ? joined("and", depth) : single(depth));
    const holds = word === "or" ? "some" : "every";
    return () => {
      const each = parts.map((part) => part());
      return (frame) => each[holds]((part) => part(frame));
    };
  }
  function single(depth) {
    if (depth > DEEPEST) fail("too many parentheses", words[next]);
    if (taken([], "not")) {
      const inner = single(depth + 1);
      return () => {
        const holds = inner();
        return (frame) => !holds(frame);
      };
    }
    const opened = taken(["("]);
    if (opened) {
      const inner = joined("or", depth + 1);
      need(")", ") for this parenthesis", opened);
      return inner;
    }
    const column = operand("the name of a column", ["name"]);
    const sign = taken(Object.keys(COMPARE), "in");
    const values = [];
    if (sign && sign.kind === "sign") values.push(operand());
    else if (sign) {
      need("(", "( and values");
      while (!values.length || taken([","])) values.push(operand());
      need(")", ", or )");
    }
    return () => compared(column, sign, values);
  }

  function columnNamed(word) {
    const column = columns.named(word.text);
    if (column) return column;
    const dot = word.text.includes(".") ? word.text.indexOf(".") : word.text.length;
    const [base, className] = [word.text.slice(0, dot), word.text.slice(dot + 1)];
    if (className && columns.named(`${base}.${columns.classes[0]}`)) return fail(`no class '${className}'; there are ${columns.classes.join(", ")}`, word);
    let near = closeMatches(word.text, columns.known);
    if (!near.length) near = closeMatches(base, columns.known).map((name) => name + word.text.slice(dot));
    const hint = near.length ? `did you mean ${near.join(" or ")}?` : `there are ${columns.known.join(", ")}`;
    return fail(`no column '${word.text}'; ${hint}`, word);
  }
  function compared(word, sign, values) {
    const column = columnNamed(word);
    const what = `${word.text} is ${KINDS[column.kind]}`;
    const exists = (value) => value !== null && !Number.isNaN(value);
    if (!sign) {
      if (column.kind !== "flag") fail(`${what}: compare it with a value`, word);
      return (frame) => column.values[frame] === true;
    }
    const ordered = ["<", "<=", ">", ">="].includes(sign.text);
    if (ordered && UNORDERED.includes(column.kind)) fail(`${what}: it takes =, != and in, got ${sign.text}`, sign);
    const compare = COMPARE[sign.text] ?? COMPARE["="];
    const each = values.map((value) => {
      if (isName(value, "none")) {
        if (ordered) fail(`none takes =, != and in, got ${sign.text}`, sign);
        return (frame) => compare(!exists(column.values[frame]), true);
      }
      const other = otherOf(column, word.text, what, value);
      return (frame) => exists(column.values[frame]) && exists(other(frame)) && compare(column.values[frame], other(frame));
    });
    return (frame) => each.some((holds) => holds(frame));
  }
  // What each frame is compared with: the values of another column, or a value of the same kind.
  function otherOf(column, name, what, value) {
    const number = Number(value.text);
    if (value.kind === "name" && !isName(value, "true", "false")) {
      const other = columnNamed(value);
      const differ = other.kind !== column.kind && [other.kind, column.kind].some((kind) => UNORDERED.includes(kind));
      if (differ) fail(`${value.text} is ${KINDS[other.kind]}, and ${what}`, value);
      return (frame) => other.values[frame];
    }
    if (column.kind === "text" && value.kind === "text") return () => value.text;
    if (column.kind === "flag" && value.kind === "name") return () => isName(value, "true");
    if (UNORDERED.includes(column.kind) || value.kind !== "number") {
      const quotes = column.kind === "text" ? `. Text has quotes: ${name} = '${value.text}'` : "";
      fail(`${what}, got '${value.text}'${quotes}`, value);
    }
    if (column.kind === "count" && !Number.isInteger(number)) {
      const share = /^(missed|false)(\.|$)/.test(name) ? `. The part of PLD is pld_${name}` : "";
      fail(`${what}, got ${value.text}${share}`, value);
    }
    const rounded = column.values instanceof Float32Array ? Math.fround(number) : number; // the page has seven digits
    return () => rounded;
  }

  const condition = joined("or", 0);
  if (words[next].kind !== "end") fail(`expected and, or, or the end, got ${quotedWord(words[next])}`, words[next]);
  const holds = condition();
  return Array.from({ length: count }, (_, frame) => holds(frame));
}

// The two names that are most like a word, as difflib.get_close_matches of Python finds them.
function closeMatches(word, names) {
  const matched = (a, b) => {
    let best = { size: 0 };
    for (let i = 0; i < a.length; i++) {
      for (let j = 0; j < b.length; j++) {
        let size = 0;
        while (i + size < a.length && j + size < b.length && a[i + size] === b[j + size]) size++;
        if (size > best.size) best = { size, i, j };
      }
    }
    const { size, i, j } = best;
    return size && size + matched(a.slice(0, i), b.slice(0, j)) + matched(a.slice(i + size), b.slice(j + size));
  };
  const scored = names.map((name) => [(2 * matched(name, word)) / (name.length + word.length), name]);
  const descending = (a, b) => b[0] - a[0] || (a[1] < b[1] ? 1 : -1);
  return scored.filter(([score]) => score >= 0.6).sort(descending).slice(0, 2).map(([, name]) => name);
}
