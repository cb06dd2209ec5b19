// An agent's loop over the summarizer's thread, to be read and copied: a stack of middleware around the run, each model
// call and each tool call, prompt sections, approvals and questions. It calls no model itself, and depends on nothing.
// Run it under the suite: tercet check --profile hooks -- node adapter.js
"use strict";

const { isDeepStrictEqual } = require("node:util");
const { Failed, bounded, said } = require("./summarizer.js");

const SEPARATOR = "\n\n";
const DENIED = "Denied: ";
const SUMMARY = "summarization"; // the key of a new summary in an update; under it stands the summary's name
const NO_RESPONSE = { message: null, update: [] };

/** The input or the output is blocked: the turn is undone. */
class Blocked extends Error {}

/**
 * The loop of one agent, { stack, tools, prompt, promptSectionTokens }, over a thread. A run is a generator, which
 * yields where it must wait for a person. The host is asked what hooks, the model and tools do; `askModel` throws Failed.
 */
class Loop {
  constructor(thread, agent, host) {
    Object.assign(this, { thread, agent, host });
    this.entries = new Map(); // what middleware wrote
    this.summaries = new Map(); // those written in the model step under way, by name
  }

  /** Run with an input until it ends, or must wait: { outcome, question, waiting }. */
  run(message) {
    this.going = this.course(message);
    return this.going.next().value;
  }

  /** Go on with the run that waits: with the reply to its question, or a decision on each call. */
  resume(reply, approved) {
    return this.going.next({ reply, approved }).value;
  }

  *course(message) {
    const thread = this.thread.saved();
    const entries = new Map(this.entries);
    try {
      yield* this.turn(message);
      return { outcome: "finished" };
    } catch (error) {
      if (error instanceof Failed) return { outcome: error.outcome };
      if (!(error instanceof Blocked)) throw error;
      this.thread.putBack(thread);
      this.entries = entries;
      return { outcome: "blocked" };
    }
  }

  /** Let the input in, take steps until the model calls no tool, let the output out. */
  *turn(message) {
    this.enter(message);
    let answer = yield* this.modelStep();
    while (answer.calls.length > 0) {
      yield* this.toolStep(answer.calls);
      answer = yield* this.modelStep();
    }
    this.leave(answer);
  }

  having(hook) {
    return this.agent.stack.filter(({ hooks }) => hooks.includes(hook));
  }

  /** Let each middleware see the input, and change it; what they write is committed with it. */
  enter(message) {
    const update = [];
    for (const middleware of this.having("before_agent")) {
      const passed = this.host.beforeAgent(middleware.id, message, this.written());
      update.push(...this.passed(middleware, passed));
      message = passed.message ?? message;
    }
    this.commit(message, update);
  }

  /** Let each middleware see the output, innermost first. */
  leave(answer) {
    const leaving = this.having("after_agent").reverse();
    const passed = (middleware) => this.passed(middleware, this.host.afterAgent(middleware.id, answer, this.written()));
    this.write(leaving.flatMap(passed));
  }

  passed(middleware, { blocked, update }) {
    if (blocked) throw new Blocked();
    mayWrite(middleware, update, []);
    return update;
  }

  /** The state by key that middleware wrote. */
  written() {
    return [...this.entries].map(([key, value]) => ({ key, value }));
  }

  write(update) {
    for (const { key, value } of update) {
      if (key === SUMMARY) this.thread.summary = this.summaries.get(value);
      else this.entries.set(key, value);
    }
  }

  /** Store a message, and what is written with it. */
  commit(message, update) {
    this.write(update);
    this.thread.append(message);
  }

  // A model step.

  *modelStep() {
    this.summaries.clear();
    const tools = this.agent.tools.map(({ name }) => name);
    const request = { system: this.prompt(), messages: [...this.thread.history.messages], tools };
    const wrapping = this.agent.stack.filter(({ hooks, summarizes }) => summarizes || hooks.includes("wrap_model"));
    const { message, update } = yield* this.wrapped(wrapping, request);
    if (message === null) throw new Failed("failed", 0, "the model step failed");
    this.commit(message, update);
    return message;
  }

  /** The system prompt: the agent's, and the sections, each within its bound, and all within theirs. */
  prompt() {
    const texts = this.having("section").map(({ id, sectionTokens }) => {
      const text = this.host.section(id, this.written());
      if (text === null) throw new Failed("failed", 0, `the section of ${id} failed`);
      return bounded(text, sectionTokens);
    });
    let left = bounded(texts.join(""), this.agent.promptSectionTokens);
    const sections = texts.map((text) => {
      const kept = left.slice(0, text.length);
      left = left.slice(text.length);
      return kept;
    });
    return [this.agent.prompt, ...sections].filter(Boolean).join(SEPARATOR) || null;
  }

  /** Let wrappers, outermost first, and the model within have a request; what comes of it is a response. */
  *wrapped([middleware, ...within], request) {
    if (middleware === undefined) return this.modelAsked(request);
    if (middleware.summarizes) return yield* this.summarized(within, request);
    const responses = [];
    const replies = [];
    for (;;) {
      const move = this.host.wrapModel(middleware.id, request, responses, replies, this.written());
      if (move.request !== null) {
        responses.push(yield* this.wrapped(within, move.request));
      } else if (move.question !== null) {
        if (!middleware.asks) throw new Failed("failed", 0, `${middleware.id} does not ask questions`);
        replies.push((yield { outcome: "suspended", question: move.question }).reply);
      } else {
        mayWrite(middleware, move.response.update, responses);
        return move.response;
      }
    }
  }

  modelAsked(request) {
    const answered = attempt(() => this.thread.counted(() => this.host.askModel(request)));
    return answered === null ? NO_RESPONSE : { message: answered.message, update: [] };
  }

  /** Summarise where it is due. A request whose stored messages another wrapper changed is passed on as it is. */
  *summarized(within, request) {
    const { system, messages } = request;
    const notes = notesIn(messages, this.thread.history.messages);
    if (notes === null) return yield* this.wrapped(within, request);
    const standing = this.thread.standing();
    const view = attempt(() => this.thread.summarized(system, notes, [], standing));
    if (view === null) return NO_RESPONSE;
    const sent = this.thread.request(null, notes, view);
    const response = yield* this.wrapped(within, { ...request, messages: sent });
    if (view === standing || response.message === null) return response;
    const name = String(this.summaries.size);
    this.summaries.set(name, this.thread.summaryOf(view));
    return { ...response, update: [...response.update, { key: SUMMARY, value: name }] };
  }

  // A tool step.

  /** Run tools; their results, and what is written with them, are committed together. */
  *toolStep(calls) {
    const results = calls.map((call) => this.used(call, false));
    const waiting = [...calls.keys()].filter((place) => results[place].kind === "approval");
    if (waiting.length > 0) {
      const { approved } = yield { outcome: "suspended", waiting };
      waiting.forEach((place, number) => {
        const denied = { kind: "error", text: DENIED + results[place].text, update: [] };
        results[place] = approved[number] ? this.used(calls[place], true) : denied;
      });
    }
    calls.forEach(({ id }, place) => {
      const { text, update } = results[place];
      this.commit({ ...said("tool", text), answers: [id] }, update);
    });
  }

  /** Let the tool wrappers, and the tool within, have a valid call. */
  used(call, approved) {
    if (!this.agent.tools.some((tool) => accepts(tool, call))) {
      return { kind: "error", text: `there is no ${call.name} that takes ${call.arguments}`, update: [] };
    }
    const result = this.wrappedTool(this.having("wrap_tool"), call, approved);
    const isOver = result.kind === "fatal" || (result.kind === "approval" && approved);
    if (isOver) throw new Failed("failed", 0, result.text);
    return result;
  }

  wrappedTool([middleware, ...within], call, approved) {
    if (middleware === undefined) return this.host.runTool(call);
    const results = [];
    for (;;) {
      const result = this.host.wrapTool(middleware.id, call, approved, results, this.written());
      if (result !== null) {
        mayWrite(middleware, result.update, results);
        return result;
      }
      results.push(this.wrappedTool(within, call, approved));
    }
  }
}

/** See to it that a hook writes its own keys only; what rode on something that next came to is another's. */
function mayWrite({ id, writes }, update, carried) {
  const rode = carried.flatMap((each) => each.update);
  const isOthers = (entry) => !writes.includes(entry.key) && !rode.some((each) => isDeepStrictEqual(each, entry));
  const other = update.find(isOthers);
  if (other !== undefined) throw new Failed("failed", 0, `${id} may not write ${other.key}`);
}

/** Make a call; null where it failed. Where it is cancelled, the run is. */
function attempt(call) {
  try {
    return call();
  } catch (error) {
    if (error instanceof Failed && error.outcome !== "cancelled") return null;
    throw error;
  }
}

/** The messages of a request that are not stored, each with the id that it follows; null where the rest was changed. */
function notesIn(messages, history) {
  const notes = [];
  const stored = [];
  for (const message of messages) {
    if (message.id === null) notes.push({ after: stored.at(-1)?.id ?? null, message });
    else stored.push(message);
  }
  return isDeepStrictEqual(stored, history) ? notes : null;
}

function accepts({ name, required }, call) {
  try {
    const given = JSON.parse(call.arguments);
    const isObject = given !== null && typeof given === "object" && !Array.isArray(given);
    return name === call.name && isObject && required.every((each) => typeof given[each] === "string");
  } catch {
    return false;
  }
}

module.exports = { Loop };
