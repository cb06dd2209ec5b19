/**
 * The wire (spec/wire.md) from the side of an implementation: lines of JSON over stdin and stdout.
 *
 * Lines are read and written in place, so that an asynchronous library can ask the suite a question from
 * within any of its callbacks.
 */

import { Console } from "node:console";
import { read, write } from "./adapter.js";

const VERSION = 1;

/** An answer that is none: `failure` is failed, cancelled or suspended. */
export class Failed extends Error {
  constructor(failure) {
    super(`the question ${failure === "failed" ? "failed" : `was ${failure}`}, as scripted`);
    this.name = "Failed";
    this.failure = failure;
  }
}

/** The configuration is not accepted. */
export class Refused extends Error {}

/** The library's messages cannot say this. */
export class Unsupported extends Error {}

let asked = 0;

/** Ask the suite, and wait for its answer; throws Failed. */
function ask(question) {
  write({ ask: ++asked, ...question });
  const { answered, failed } = read() ?? process.exit(0);
  if (failed) throw new Failed(failed.failure);
  return answered;
}

/** A list of messages of which only the changes are said. */
class Told {
  before = [];

  splice(messages) {
    const after = messages.map((message) => JSON.stringify(message));
    const most = Math.min(this.before.length, after.length);
    let keep = 0;
    while (keep < most && after[keep] === this.before[keep]) keep++;
    this.before = after;
    return { keep, add: messages.slice(keep) };
  }
}

/** The suite, to a thread: it plays the compressor and the model. */
class Host {
  constructor(session) {
    this.session = session;
    this.request = new Told();
  }

  /** Answer as the compressor with a text; throws Failed. */
  summarize(given) {
    return ask({ session: this.session, question: "summarize", given }).text;
  }

  /** Answer as the model with a message; throws Failed. */
  answer(request) {
    const told = this.request.splice(request);
    return ask({ session: this.session, question: "answer", request: told }).message;
  }
}

/** The question's failure that an error came from, through whatever it was wrapped in. */
function failureOf(error) {
  for (let each = error; each; each = each.cause) if (each instanceof Failed) return each.failure;
  return null;
}

/**
 * Serve threads until the input ends. `begin(configuration, host)` makes a thread: `append(messages)` returns
 * stored ids, `step(system)` the stored id of the answer, `state()` the history and the summary; and so on.
 */
export async function serve(introduction, begin) {
  globalThis.console = new Console(process.stderr);
  const threads = new Map();

  async function returned(call) {
    if (call.call === "hello") return { wire: VERSION, ...introduction };
    if (call.call === "open") {
      const thread = await begin(call.configuration, new Host(call.session));
      threads.set(call.session, { thread, told: new Told() });
      return {};
    }
    const { thread } = threads.get(call.session);
    switch (call.call) {
      case "append":
        return { ids: await thread.append(call.messages) };
      case "step":
        try {
          return { outcome: "committed", answer_id: await thread.step(call.system) };
        } catch (error) {
          const outcome = failureOf(error);
          if (outcome === null) throw error;
          return { outcome };
        }
      case "configure":
        await thread.configure(call.configuration);
        return {};
      case "checkpoint":
        return { checkpoint: await thread.checkpoint() };
      case "restore":
        await thread.restore(call.checkpoint);
        return {};
      case "edit":
        await thread.edit(call.history);
        return {};
      case "close":
        threads.delete(call.session);
        return {};
      default:
        throw new Error(`${call.call} is not declared`);
    }
  }

  async function answer(call) {
    try {
      const value = await returned(call);
      const open = threads.get(call.session);
      if (open === undefined) return { returned: value };
      const { history, ...rest } = await open.thread.state();
      return { returned: { ...value, state: { history: open.told.splice(history), ...rest } } };
    } catch (error) {
      if (error instanceof Refused) return { refused: [error.message] };
      if (error instanceof Unsupported) return { unsupported: error.message };
      console.error(error);
      return { raised: `${error?.name}: ${error?.message}` };
    }
  }

  for (let call; (call = read()) !== null; ) write({ id: call.id, ...(await answer(call)) });
  process.exit(0);
}
