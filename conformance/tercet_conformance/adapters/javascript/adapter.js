// The wire around the summarizer and the loop: reads the suite's calls from stdin, a JSON object a line, and writes
// what they return to stdout. During a step it asks the suite for summaries and answers, during a run for what hooks
// and tools do too, and waits. The protocol: spec/wire.md
// Run it under the suite: tercet check --profile durable -- node adapter.js
"use strict";

const fs = require("node:fs");
const { isDeepStrictEqual } = require("node:util");
const { Loop } = require("./loop.js");
const { BEFORE, Failed, Refused, Thread } = require("./summarizer.js");

const DESCRIPTION = { wire: 1, version: "1", language: "JavaScript", character: "UTF-16 unit", before: BEFORE };
const CAPABILITIES = [
  "message-trigger", "token-trigger", "bound", "system", "summary-shown", "exact-input", "missing-ids",
  "notes", "pending", "model-step", "suspend", "turns", "checkpoint", "edit", "restores-key",
  "usage", "configure", "refuses", "warns", "beside",
  "hooks", "writes", "sections", "tools", "input-blocks", "output-blocks", "suspends", "approvals", "questions",
];
const LINE_FEED = 10;

let unread = Buffer.alloc(0);
let asked = 0;

/** Read or write some bytes; none at the end. A pipe that is not ready may say so instead of waiting. */
function patiently(act) {
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (error.code === "EOF") return 0;
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

function readBytes() {
  const bytes = Buffer.alloc(65536);
  return bytes.subarray(0, patiently(() => fs.readSync(0, bytes)));
}

/** Read an object; null at the end of the input. Whole lines are decoded: a character may be divided between reads. */
function read() {
  const pieces = [];
  for (;;) {
    const end = unread.indexOf(LINE_FEED);
    pieces.push(end < 0 ? unread : unread.subarray(0, end));
    unread = end < 0 ? readBytes() : unread.subarray(end + 1);
    if (end >= 0) return JSON.parse(Buffer.concat(pieces).toString());
    if (unread.length === 0) return null;
  }
}

function write(envelope) {
  const line = Buffer.from(`${JSON.stringify(envelope)}\n`);
  for (let sent = 0; sent < line.length; ) sent += patiently(() => fs.writeSync(1, line, sent));
}

/** A thread and what was said of it on the wire. The thread's host is the suite: it is asked, and answers. */
class Session {
  constructor(ThreadClass, { session, configuration }) {
    this.number = session;
    this.thread = new ThreadClass(configurationOf(configuration), this);
    this.checkpoints = [];
    this.shown = [];
    this.requested = [];
  }

  summarize(given, soFar) {
    return this.ask({ question: "summarize", given, so_far: soFar });
  }

  answer(request) {
    const became = change(this.requested, request);
    this.requested = request;
    const { message, usage } = this.ask({ question: "answer", request: became });
    return { message: messageOf(message), usage };
  }

  ask(question) {
    asked += 1;
    write({ ask: asked, session: this.number, ...question });
    const told = read();
    if (told === null) throw new Error("the input ended while a question was open");
    if (told.failed) throw new Failed(told.failed.failure, told.failed.usage);
    return told.answered;
  }

  state() {
    const before = this.shown;
    this.shown = [...this.thread.history.messages];
    const { summary, usage } = this.thread;
    return { history: change(before, this.shown), summary, usage, warnings: this.thread.warnings() };
  }
}

/** A thread that an agent's loop runs over. The hooks, the model and the tools are the suite's too. */
class LoopSession extends Session {
  constructor(ThreadClass, LoopClass, told) {
    super(ThreadClass, told);
    this.loop = new LoopClass(this.thread, agentOf(told.agent), this);
    this.requests = new Map(); // the messages that each wrapper, and the model (null), was shown last
  }

  beforeAgent(middleware, message, entries) {
    return passedOf(this.ask({ question: "before_agent", middleware, message, entries }));
  }

  section(middleware, entries) {
    return this.ask({ question: "section", middleware, entries }).text;
  }

  wrapModel(middleware, request, responses, replies, entries) {
    const became = this.became(middleware, request);
    const question = { question: "wrap_model", middleware, request: became, responses, replies, entries };
    return moveOf(this.ask(question), request.messages);
  }

  askModel(request) {
    const { message, usage } = this.ask({ question: "ask_model", request: this.became(null, request) });
    return { message: messageOf(message), usage };
  }

  wrapTool(middleware, call, approved, results, entries) {
    const { result } = this.ask({ question: "wrap_tool", middleware, tool_call: call, approved, results, entries });
    return result === null ? null : resultOf(result);
  }

  runTool(call) {
    return resultOf(this.ask({ question: "run_tool", tool_call: call }));
  }

  afterAgent(middleware, message, entries) {
    return passedOf(this.ask({ question: "after_agent", middleware, message, entries }));
  }

  /** A request as what became of the last one that the same wrapper, or the model, was shown. */
  became(shownTo, { system, messages, tools }) {
    const before = this.requests.get(shownTo) ?? [];
    this.requests.set(shownTo, messages);
    return { system, messages: change(before, messages), tools };
  }

  state() {
    return { ...super.state(), entries: this.loop.written() };
  }
}

/** What became of a list of messages: the beginning that is as it was, and all that comes after. */
function change(before, after) {
  const isNew = (message, at) => !isDeepStrictEqual(message, before[at]);
  const first = after.findIndex(isNew);
  const keep = first < 0 ? after.length : first;
  return { keep, add: after.slice(keep) };
}

function changed(before, { keep = 0, drop = null, add = [] }) {
  return [...before.slice(0, keep), ...add.map(messageOf), ...(drop === null ? [] : before.slice(keep + drop))];
}

function messageOf({ role, content = "", calls = [], answers = [], id = null }) {
  return { role, content, calls, answers, id };
}

function configurationOf({ trigger, keep_recent, max_summary_tokens, token_counter, beside }) {
  const maxSummaryTokens = max_summary_tokens;
  return { trigger, keepRecent: keep_recent, maxSummaryTokens, tokenCounter: token_counter, beside };
}

function agentOf({ stack, tools, prompt, prompt_section_tokens }) {
  const middlewareOf = ({ section_tokens, ...rest }) => ({ ...rest, sectionTokens: section_tokens });
  return { stack: stack.map(middlewareOf), tools, prompt, promptSectionTokens: prompt_section_tokens };
}

function passedOf({ message = null, update = [], blocked = false }) {
  return { message: message === null ? null : messageOf(message), update, blocked };
}

/** What a model wrapper answers; the messages of its request are what became of those that it was shown. */
function moveOf({ request = null, response = null, question = null }, shown) {
  const message = response?.message ?? null;
  return {
    request: request && { system: null, tools: [], ...request, messages: changed(shown, request.messages) },
    response: response && { message: message && messageOf(message), update: response.update ?? [] },
    question,
  };
}

function resultOf({ kind, text = "", update = [] }) {
  return { kind, text, update };
}

function step(thread, { system = null, notes = [], pending = [] }) {
  const placed = notes.map(({ after = null, message }) => ({ after, message: messageOf(message) }));
  try {
    return { outcome: "committed", answer_id: thread.step(system, placed, pending) };
  } catch (error) {
    if (error instanceof Failed) return { outcome: error.outcome };
    throw error;
  }
}

/** What is done at each call, and returned beside the state. */
const CALLS = {
  open: () => ({}),
  open_loop: () => ({}),
  append: ({ thread }, { messages }) => ({ ids: messages.map((message) => thread.append(messageOf(message))) }),
  step: ({ thread }, told) => step(thread, told),
  configure: ({ thread }, { configuration }) => thread.configure(configurationOf(configuration)),
  begin_turn: (session) => void (session.began = session.thread.saved()),
  end_turn: ({ thread, began }, { blocked }) => void (blocked && thread.putBack(began)),
  checkpoint: ({ thread, checkpoints }) => ({ checkpoint: String(checkpoints.push(thread.saved()) - 1) }),
  restore: ({ thread, checkpoints }, { checkpoint }) => thread.putBack(checkpoints[checkpoint]),
  edit: ({ thread, shown }, { history }) => thread.edit(changed(shown, history)),
  run: ({ loop }, { message }) => loop.run(messageOf(message)),
  resume: ({ loop }, { reply = null, approved = [] }) => loop.resume(reply, approved),
};

/** Answer calls until the input ends. */
function serve(name, ThreadClass = Thread, LoopClass = Loop) {
  const sessions = new Map();
  const returned = (told) => {
    if (told.call === "hello") return { ...DESCRIPTION, name, capabilities: CAPABILITIES };
    if (told.call === "open") sessions.set(told.session, new Session(ThreadClass, told));
    if (told.call === "open_loop") sessions.set(told.session, new LoopSession(ThreadClass, LoopClass, told));
    const session = sessions.get(told.session);
    if (told.call !== "close") return { ...CALLS[told.call](session, told), state: session.state() };
    sessions.delete(told.session);
    return {};
  };
  for (let told = read(); told !== null; told = read()) {
    try {
      write({ id: told.id, returned: returned(told) });
    } catch (error) {
      write({ id: told.id, ...(error instanceof Refused ? { refused: error.problems } : { raised: String(error) }) });
    }
  }
}

module.exports = { read, serve, write };
if (require.main === module) serve("summarizer in JavaScript");
