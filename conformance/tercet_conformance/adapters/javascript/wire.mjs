/**
 * The wire (spec/wire.md) from the side of an implementation: lines of JSON over stdin and stdout.
 *
 * Lines are read and written in place, so that an asynchronous library can ask the suite a question from
 * within any of its callbacks.
 */

import { readSync, writeSync } from "node:fs";
import { Console } from "node:console";

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

/** Lines on two file descriptors. */
class Lines {
  chunks = [];
  ask = 0;

  /** Read an object; null at the end of the input. */
  read() {
    const chunk = Buffer.alloc(65536);
    for (;;) {
      const end = this.chunks.length ? this.chunks.at(-1).indexOf(10) : -1;
      if (end >= 0) {
        const last = this.chunks.pop();
        const line = Buffer.concat([...this.chunks, last.subarray(0, end)]);
        this.chunks = end + 1 < last.length ? [last.subarray(end + 1)] : [];
        return JSON.parse(line.toString("utf8"));
      }
      const length = patiently(() => readSync(0, chunk));
      if (length === 0) return null;
      this.chunks.push(Buffer.from(chunk.subarray(0, length)));
    }
  }

  write(object) {
    const line = Buffer.from(`${JSON.stringify(object)}\n`);
    for (let sent = 0; sent < line.length; ) sent += patiently(() => writeSync(1, line, sent));
  }

  question(asked) {
    this.write({ ask: ++this.ask, ...asked });
    const { answered, failed } = this.read() ?? process.exit(0);
    if (failed) throw new Failed(failed.failure);
    return answered;
  }
}

/** Read or write where the descriptor may not be ready, or its input at its end. */
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
  constructor(lines, session) {
    this.lines = lines;
    this.session = session;
    this.request = new Told();
  }

  /** Answer as the compressor with a text; throws Failed. */
  summarize(given) {
    return this.lines.question({ session: this.session, question: "summarize", given }).text;
  }

  /** Answer as the model with a message; throws Failed. */
  answer(request) {
    const told = this.request.splice(request);
    return this.lines.question({ session: this.session, question: "answer", request: told }).message;
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
  const lines = new Lines();
  const threads = new Map();

  async function returned(call) {
    if (call.call === "hello") return { wire: VERSION, ...introduction };
    if (call.call === "open") {
      const thread = await begin(call.configuration, new Host(lines, call.session));
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

  for (let call; (call = lines.read()) !== null; ) lines.write({ id: call.id, ...(await answer(call)) });
  process.exit(0);
}
