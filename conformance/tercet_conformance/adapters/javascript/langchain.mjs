/**
 * LangChain.js's `summarizationMiddleware` under the suite, on two roads. The fast road calls its hook `beforeModel` and
 * the graph's reducer; the whole one, which the argument "whole" asks for, runs `createAgent` with a checkpointer.
 *
 * Its compressor is given prose, so that exact-input is not declared. It stores the summary under the id of the first
 * message that it covers; here the summary is shown without an id, since it is not that message.
 */

import { AgentThread } from "./agent.mjs";
import { load, fromLangChain, Player, tokenCounter, version } from "./messages.mjs";
import { Refused, serve } from "./wire.mjs";

const { summarizationMiddleware } = load("langchain");
const { messagesStateReducer } = load("@langchain/langgraph");
const { SystemMessage } = load("@langchain/core/messages");

/** Set up the middleware; what it does not accept is Refused. */
function middleware(player, { trigger, keep_recent, token_counter }) {
  try {
    return summarizationMiddleware({
      model: player.compressor,
      trigger: { [trigger.kind]: trigger.limit },
      keep: { messages: keep_recent },
      tokenCounter: tokenCounter(token_counter),
    });
  } catch (error) {
    throw new Refused(error.message);
  }
}

class HookThread {
  messages = [];

  constructor(configuration, host) {
    this.player = new Player(host);
    this.configure(configuration);
  }

  configure(configuration) {
    this.middleware = middleware(this.player, configuration);
  }

  append(messages) {
    const named = messages.map((message) => this.player.named(message));
    this.messages = messagesStateReducer(this.messages, named);
    return named.map((message) => message.id);
  }

  async step(system) {
    const context = this.middleware.contextSchema.parse({});
    const update = await this.middleware.beforeModel({ messages: this.messages }, { context });
    if (update) this.messages = messagesStateReducer(this.messages, update.messages);
    const prompt = system === null ? [] : [new SystemMessage(system)];
    const answer = await this.player.model.invoke([...prompt, ...this.messages]);
    this.messages = messagesStateReducer(this.messages, [answer]);
    return answer.id;
  }

  state() {
    return { history: this.messages.map(fromLangChain) };
  }
}

const whole = process.argv[2] === "whole";
const settings = (player, configuration) => ({
  model: player.model,
  middleware: [middleware(player, configuration)],
});

await serve(
  {
    name: whole ? "langchain (createAgent)" : "langchain",
    version: version("langchain"),
    language: "JavaScript",
    capabilities: [
      ...["message-trigger", "token-trigger", "system", "configure", "refuses"],
      ...(whole ? ["model-step"] : []),
    ],
    character: "UTF-16 unit",
    before: "Here is a summary of the conversation to date:\n\n",
    failed_compressor: "fails",
  },
  (configuration, host) =>
    whole ? new AgentThread(configuration, host, settings) : new HookThread(configuration, host),
);
