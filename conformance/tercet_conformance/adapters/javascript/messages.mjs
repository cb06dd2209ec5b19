/**
 * Tercet's messages and LangChain.js's, and chat models that the suite answers for.
 *
 * The packages are looked for in the folder that TERCET_NODE_MODULES names, else beside this file.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { Unsupported } from "./wire.mjs";

const folder = resolve(process.env.TERCET_NODE_MODULES || fileURLToPath(new URL("node_modules", import.meta.url)));
export const load = createRequire(`${folder}${sep}`);

/** The version of a package that was found. */
export function version(name) {
  return JSON.parse(readFileSync(`${folder}${sep}${name}${sep}package.json`, "utf8")).version;
}

const { BaseChatModel } = load("@langchain/core/language_models/chat_models");
const { AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage } = load("@langchain/core/messages");

const ROLES = { human: "user", ai: "assistant", system: "system", tool: "tool" };

/** Divide calls as LangChain does: those whose arguments are a JSON object, and the invalid ones. */
function divided(calls) {
  const valid = [];
  const invalid = [];
  for (const call of calls) {
    const named = call.id === null ? { name: call.name } : { name: call.name, id: call.id };
    let args;
    try {
      args = JSON.parse(call.arguments);
    } catch {
      args = null;
    }
    if (args !== null && typeof args === "object" && !Array.isArray(args)) {
      valid.push({ ...named, args, type: "tool_call" });
    } else {
      invalid.push({ ...named, args: call.arguments, type: "invalid_tool_call" });
    }
  }
  return [valid, invalid];
}

/** Read an assistant message's calls, as they were written if it still says the same. */
function callsOf(message) {
  const written = (message.additional_kwargs?.tool_calls ?? []).map((call) => ({
    id: call.id ?? null,
    name: call.function.name,
    arguments: call.function.arguments,
  }));
  const held = [message.tool_calls ?? [], message.invalid_tool_calls ?? []];
  if (written.length && isDeepStrictEqual(divided(written), held)) return written;
  return [
    ...held[0].map((call) => ({ id: call.id ?? null, name: call.name, arguments: JSON.stringify(call.args) })),
    ...held[1].map((call) => ({ id: call.id ?? null, name: call.name ?? "", arguments: call.args ?? "" })),
  ];
}

/**
 * Make an assistant message. Where LangChain's form of the calls would lose how they were written (spacing, order),
 * they stand in `additional_kwargs` too, as a chat provider returned them.
 */
function assistantMessage({ content, calls, id }) {
  const [valid, invalid] = divided(calls);
  const fields = { content, tool_calls: valid, invalid_tool_calls: invalid, id };
  const plain = new AIMessage(fields);
  if (isDeepStrictEqual(callsOf(plain), calls)) return plain;
  const written = calls.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  }));
  return new AIMessage({ ...fields, additional_kwargs: { tool_calls: written } });
}

/** Translate a message into LangChain's; throws Unsupported for a result that does not answer exactly one id. */
export function toLangChain({ role, content = "", calls = [], answers = [], id }) {
  switch (role) {
    case "system":
      return new SystemMessage({ content, id });
    case "user":
      return new HumanMessage({ content, id });
    case "assistant":
      return assistantMessage({ content, calls, id });
    default:
      if (answers.length !== 1 || answers[0] === null) {
        throw new Unsupported(
          `a ToolMessage answers one call id; this message answers ${JSON.stringify(answers)}`,
        );
      }
      return new ToolMessage({ content, tool_call_id: answers[0], id });
  }
}

/**
 * Translate a message of LangChain's: the text of its content, its calls, the id that it answers, its id. A summary
 * has none, whatever it is stored under: it is not the message whose id the library gave it.
 */
export function fromLangChain(message) {
  const isSummary = message.additional_kwargs?.lc_source === "summarization";
  return {
    role: ROLES[message.getType()],
    content: typeof message.content === "string" ? message.content : message.text,
    calls: message.getType() === "ai" ? callsOf(message) : [],
    answers: message.getType() === "tool" ? [message.tool_call_id] : [],
    id: isSummary ? null : (message.id ?? null),
  };
}

/** Count the tokens of messages by a configuration's counter; JavaScript's characters are UTF-16 units. */
export function tokenCounter({ base, divisor }) {
  return (messages) =>
    messages.reduce((sum, each) => {
      const { content, calls } = fromLangChain(each);
      const characters = calls.reduce((n, call) => n + call.name.length + call.arguments.length, content.length);
      return sum + base + Math.ceil(characters / divisor);
    }, 0);
}

/** A chat model that answers with what `respond` makes of its messages. */
class HostModel extends BaseChatModel {
  constructor(respond) {
    super({});
    this.respond = respond;
  }

  _llmType() {
    return "host";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const message = this.respond(messages);
    return { generations: [{ text: message.text, message }] };
  }
}

/** The suite's host in LangChain's terms; it names what has no stored id `h1`, `h2` and so on. */
export class Player {
  names = 0;

  constructor(host) {
    this.model = new HostModel((request) =>
      this.told(() => this.named(host.answer(request.map(fromLangChain)))),
    );
    this.compressor = new HostModel((given) =>
      this.told(() => new AIMessage(host.summarize(given.map(fromLangChain)))),
    );
  }

  /** Called with what cancels a step: an abort in JavaScript, whatever becomes of the error. */
  cancel() {}

  told(ask) {
    try {
      return ask();
    } catch (error) {
      if (error.failure === "cancelled") this.cancel(error);
      throw error;
    }
  }

  /** Translate a message that is about to be stored. */
  named(message) {
    return toLangChain({ ...message, id: message.id ?? `h${++this.names}` });
  }

  /** Say what became of stored messages as an update of the graph's: each of them removed, or written anew. */
  changes(messages, { keep = 0, add = [], drop = null }) {
    const written = new Map(add.map((message) => [message.id, this.named(message)]));
    const gone = messages.slice(keep, drop === null ? undefined : keep + drop);
    return gone.map(({ id }) => written.get(id) ?? new RemoveMessage({ id }));
  }
}
