// A complete small summarizer of an agent's thread, to be read and copied: when to summarise (the trigger), where to
// cut, how long a summary may be (the bound). It counts UTF-16 units, calls no model itself, and depends on nothing.
// Run it under the suite: tercet check --profile durable -- node adapter.js
"use strict";

const { isDeepStrictEqual } = require("node:util");

const BEFORE = "Earlier in this conversation: ";
const CHARACTERS_PER_TOKEN = 4;
const LEAST_BOUND = 32;
const said = (role, content) => ({ role, content, calls: [], answers: [], id: null });
// To compare a trimmed text would be wrong: trim() takes U+FEFF for white space, and U+0085 for none.
const isBlank = (text) => /^\p{White_Space}*$/u.test(text);

/** A configuration is not accepted, and why. */
class Refused extends Error {
  constructor(problems) {
    super(problems.join("; "));
    this.problems = problems;
  }
}

/** The compressor or the model gave no answer; `outcome` is how the step ends, `usage` what the call cost. */
class Failed extends Error {
  constructor(outcome, usage, message = outcome) {
    super(message);
    Object.assign(this, { outcome, usage });
  }
}

/** The stored messages and their pairs: which tool call each tool result answers. A pair once formed never changes. */
class History {
  constructor(messages = []) {
    this.messages = [];
    this.opening = 0; // how many system messages open the history
    this.calls = []; // of each message its tool calls: { position, results }, the results' positions
    this.answered = []; // of each message the tool calls that it answers
    this.callsOfId = new Map(); // { unanswered, latest } of each id; a missing id, null, is an id like any other
    this.positions = new Map();
    messages.forEach((message) => this.push(message));
  }

  push(message) {
    const position = this.messages.length;
    const answered = message.answers.map((id) => this.callAnsweredBy(id)).filter((call) => call !== undefined);
    answered.forEach((call) => call.results.push(position));
    const calls = message.calls.map(() => ({ position, results: [] }));
    message.calls.forEach(({ id }, place) => {
      const ofId = this.callsOfId.get(id) ?? { unanswered: [] };
      ofId.unanswered.push(calls[place]);
      ofId.latest = calls[place];
      this.callsOfId.set(id, ofId);
    });
    if (message.role === "system" && this.opening === position) this.opening += 1;
    this.messages.push(message);
    this.calls.push(calls);
    this.answered.push(answered);
    this.positions.set(message.id, position);
  }

  /** The nearest earlier call of an id that has no result yet; where all have one, the nearest; none for an orphan. */
  callAnsweredBy(id) {
    const ofId = this.callsOfId.get(id);
    return ofId && (ofId.unanswered.pop() ?? ofId.latest);
  }

  /** The position of a message, -1 where the history does not hold it. */
  position(id) {
    return this.positions.get(id) ?? -1;
  }

  /** Move a cut earlier until no result at or after it answers a call of the tail before it. */
  legalCut(start, latest) {
    let cut = latest;
    for (let position = this.messages.length - 1; position >= cut && cut > start; position -= 1) {
      for (const call of this.answered[position]) {
        if (call.position >= start) cut = Math.min(cut, call.position);
      }
    }
    return cut;
  }

  /** The messages before `start` that late results from there to `until` need beside them, in order. */
  calledBack(start, until) {
    const back = new Set();
    const needed = this.answered.slice(start, until).flatMap((calls) => calls.map((call) => call.position));
    while (needed.length > 0) {
      const position = needed.pop();
      if (position >= start || back.has(position)) continue;
      back.add(position);
      for (const call of this.calls[position]) {
        const result = call.results.findLast((each) => each < start);
        if (result !== undefined) needed.push(result, ...this.answered[result].map((other) => other.position));
      }
    }
    return [...back].sort((one, other) => one - other).map((position) => this.messages[position]);
  }
}

/**
 * One thread. The host is asked for summaries, `summarize(messages, soFar)`, which returns { text, usage }, and for
 * answers, `answer(request)`, which returns { message, usage }; both throw Failed. A view is what a request shows of
 * the history: the summary's text, null without one, and `start`, the position of the tail's first message.
 */
class Thread {
  constructor(configuration, host) {
    this.host = host;
    this.history = new History();
    this.summary = null; // { text, through }: the stored id of the last message that it covers
    this.usage = 0;
    this.idsGiven = 0;
    this.configure(configuration);
  }

  configure(configuration) {
    const problems = problemsOf(configuration);
    if (problems.length > 0) throw new Refused(problems);
    this.configuration = configuration;
  }

  /** Store a message and return its stored id. */
  append(message) {
    const id = `m${(this.idsGiven += 1)}`;
    this.history.push({ ...message, id });
    return id;
  }

  /** Take one model step and return the stored id of the answer. Nothing is stored before the model has answered. */
  step(system, notes, pending) {
    const standing = this.standing();
    const view = this.summarized(system, notes, pending, standing);
    const { message } = this.counted(() => this.host.answer(this.request(system, notes, view)));
    if (view !== standing) this.summary = this.summaryOf(view);
    return this.append(message);
  }

  /** What is stored of a new summary. */
  summaryOf({ text, start }) {
    return { text, through: this.history.messages[start - 1].id };
  }

  /** The thread as it is now, to be put back after a block of the turn that begins, or at a restore. */
  saved() {
    return { messages: [...this.history.messages], summary: this.summary };
  }

  /** Put the thread back to what it was when it was saved. What was used since stays used. */
  putBack({ messages, summary }) {
    this.history = new History(messages);
    this.summary = summary;
  }

  /** Take what another party made of the history; a summary of messages that are no longer there is cleared. */
  edit(messages) {
    const edited = new History(messages);
    const end = this.summary === null ? 0 : this.placeAfter(this.summary.through);
    const isThere = (message) => isDeepStrictEqual(edited.messages[edited.position(message.id)], message);
    if (!this.history.messages.slice(this.history.opening, end).every(isThere)) this.summary = null;
    this.history = edited;
  }

  /** The configuration is warned of where each added message passes the limit; a system prompt may come with any. */
  warnings() {
    const { trigger, keepRecent, maxSummaryTokens } = this.configuration;
    const passed = trigger.kind === "messages" ? keepRecent + 2 : maxSummaryTokens;
    return trigger.limit <= passed ? ["each added message may pass this limit"] : [];
  }

  /** Make a call whose usage counts, however it ends. */
  counted(call) {
    try {
      const answered = call();
      this.usage += answered.usage;
      return answered;
    } catch (error) {
      if (error instanceof Failed) this.usage += error.usage;
      throw error;
    }
  }

  /** The view under the stored summary where it applies; else the one of the whole history. */
  standing() {
    const { messages, opening } = this.history;
    if (this.summary !== null) {
      const text = bounded(this.summary.text, this.configuration.maxSummaryTokens);
      const anchor = this.history.position(this.summary.through);
      if (opening <= anchor && anchor < messages.length - 1 && !isBlank(text)) return { text, start: anchor + 1 };
    }
    return { text: null, start: opening };
  }

  /** The view under a new summary where one is due and a cut is usable; else the one that stands. */
  summarized(system, notes, pending, standing) {
    const { text: soFar, start } = standing;
    if (!this.isPast(this.size(this.request(system, notes, standing)))) return standing;
    const cut = this.cut(start, pending);
    if (cut <= start) return standing;
    const given = [...this.history.calledBack(start, cut), ...this.history.messages.slice(start, cut)];
    const summarized = this.counted(() => this.host.summarize(given, soFar));
    const text = bounded(summarized.text, this.configuration.maxSummaryTokens);
    if (isBlank(text)) throw new Failed("failed", 0, "the compressor's text is blank");
    return { text, start: cut };
  }

  isPast(size) {
    return size > this.configuration.trigger.limit;
  }

  /** The latest legal cut that keeps keepRecent messages and stays before every pending call. */
  cut(start, pending) {
    const waiting = pending.map(({ message }) => this.history.position(message));
    const latest = this.history.messages.length - this.configuration.keepRecent;
    return this.history.legalCut(start, Math.min(latest, ...waiting.filter((position) => position >= start)));
  }

  /** What a view sends. A note keeps its place; where a neighbour of it is covered, it comes before the tail. */
  request(system, notes, { text, start }) {
    const { messages, opening } = this.history;
    const isBeside = (place) => opening < start && opening <= place && place <= start;
    const placed = notes.map(({ after, message }) => ({ place: this.placeAfter(after), message }));
    const where = (is) => placed.filter(({ place }) => is(place)).map(({ message }) => message);
    const notesAt = (position) => where((place) => place === position && !isBeside(place));
    const withNotes = (from, to) => messages.slice(from, to).flatMap((message, at) => [...notesAt(from + at), message]);
    return [
      ...(system === null ? [] : [said("system", system)]),
      ...withNotes(0, opening),
      ...(text === null ? [] : [said("user", BEFORE + text)]),
      ...this.history.calledBack(start, messages.length),
      ...where(isBeside),
      ...withNotes(start, messages.length),
      ...notesAt(messages.length),
    ];
  }

  placeAfter(id) {
    return id === null ? 0 : this.history.position(id) + 1;
  }

  size(request) {
    const { trigger, tokenCounter } = this.configuration;
    if (trigger.kind === "messages") return request.length;
    const characters = ({ content, calls }) =>
      calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, content.length);
    const tokens = (message) => tokenCounter.base + Math.ceil(characters(message) / tokenCounter.divisor);
    return request.reduce((sum, message) => sum + tokens(message), 0);
  }
}

/** The longest beginning of a text within a bound that splits no surrogate pair. */
function bounded(text, maxTokens) {
  const end = CHARACTERS_PER_TOKEN * maxTokens;
  return text.slice(0, /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(end - 1, end + 1)) ? end - 1 : end);
}

function problemsOf({ trigger, keepRecent, maxSummaryTokens, beside }) {
  const problems = [];
  if (keepRecent < 1) problems.push(`keepRecent is ${keepRecent}; the least is 1`);
  if (maxSummaryTokens < LEAST_BOUND) problems.push(`maxSummaryTokens is ${maxSummaryTokens}; the least is 32`);
  if (!["messages", "tokens"].includes(trigger.kind)) problems.push(`a trigger of ${trigger.kind} is not known`);
  if (trigger.limit < 1) problems.push(`the trigger's limit is ${trigger.limit}; the least is 1`);
  beside.forEach((other) => problems.push(`a ${other} manages this thread too`));
  return problems;
}

module.exports = { BEFORE, Failed, Refused, Thread, bounded, said };
