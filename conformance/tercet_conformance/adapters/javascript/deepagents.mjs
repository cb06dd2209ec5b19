/**
 * deepagents' summarization middleware under the suite, on two roads. The fast road calls its `wrapModelCall` over the
 * state that it keeps; the whole one, which the argument "whole" asks for, runs `createAgent` with a checkpointer.
 *
 * It keeps the summary beside the history, as a message and the number of messages that it stands for: shown as the
 * text and the last of these. Its compressor is given prose, and its token count cannot be configured, so that neither
 * exact-input nor token-trigger is declared; nor refuses, since it looks at no configuration.
 *
 * It saves what it summarises to a backend, here a store in memory, in a file that the summary message names. That
 * name holds a session id, drawn at random; here the state holds one from the start, and the frame is constant.
 */

import { AgentThread } from "./agent.mjs";
import { load, fromLangChain, Player, version } from "./messages.mjs";
import { serve } from "./wire.mjs";

const { createMiddleware } = load("langchain");
const { createSummarizationMiddleware, StoreBackend } = load("deepagents");
const { InMemoryStore, isCommand, messagesStateReducer } = load("@langchain/langgraph");
const { SystemMessage } = load("@langchain/core/messages");

const SESSION = "session_1";
const BEFORE = `You are in the middle of a conversation that has been summarized.

The full conversation history has been saved to /conversation_history/${SESSION}.md should you need to refer back to it for details.

A condensed summary follows:

<summary>
`;
const AFTER = "\n</summary>";

/** The summary that the state holds, as its text and the stored id of the last message that it covers. */
function summaryOf({ messages, _summarizationEvent: event }) {
  const last = messages[Math.min(event?.cutoffIndex ?? 0, messages.length) - 1];
  if (last === undefined) return null;
  const { content } = event.summaryMessage;
  const framed = content.startsWith(BEFORE) && content.endsWith(AFTER);
  return { text: framed ? content.slice(BEFORE.length, -AFTER.length) : content, through: last.id };
}

/** The middleware; it asks the request's own model for a summary, whatever `model` it is given. */
function middleware(player, backend, { trigger, keep_recent }) {
  return createSummarizationMiddleware({
    model: player.compressor,
    backend,
    trigger: { type: trigger.kind, value: trigger.limit },
    keep: { type: "messages", value: keep_recent },
  });
}

const inMemory = () => new StoreBackend({ store: new InMemoryStore(), namespace: ["filesystem"] });

class WrappedThread {
  checkpoints = [];
  values = { messages: [], _summarizationSessionId: SESSION };

  constructor(configuration, host) {
    this.player = new Player(host);
    this.backend = inMemory();
    this.configure(configuration);
  }

  configure(configuration) {
    this.middleware = middleware(this.player, this.backend, configuration);
  }

  append(messages) {
    const named = messages.map((message) => this.player.named(message));
    this.update({ messages: named });
    return named.map((message) => message.id);
  }

  /** Put an update into the state as the graph does. */
  update({ messages = [], ...rest }) {
    this.values = { ...this.values, ...rest, messages: messagesStateReducer(this.values.messages, messages) };
  }

  async step(system) {
    const systemMessage = new SystemMessage(system ?? "");
    const prompt = system === null ? [] : [systemMessage];
    let answer;
    const response = await this.middleware.wrapModelCall(
      {
        model: this.player.compressor,
        messages: this.values.messages,
        systemPrompt: systemMessage.text,
        systemMessage,
        tools: [],
        state: this.values,
        runtime: { context: {} },
      },
      async (request) => (answer = await this.player.model.invoke([...prompt, ...request.messages])),
    );
    this.update({ messages: [answer] });
    if (isCommand(response)) this.update(response.update);
    return answer.id;
  }

  checkpoint() {
    return String(this.checkpoints.push(this.values) - 1);
  }

  restore(checkpoint) {
    this.values = this.checkpoints[checkpoint];
  }

  edit(history) {
    this.update({ messages: this.player.changes(this.values.messages, history) });
  }

  state() {
    return { history: this.values.messages.map(fromLangChain), summary: summaryOf(this.values) };
  }
}

/** An agent whose model is the compressor, until the summarization is done with: then it is the model. */
class WholeThread extends AgentThread {
  static async begin(configuration, host) {
    const backend = inMemory();
    const thread = new WholeThread(configuration, host, (player, configuration) => ({
      model: player.compressor,
      middleware: [
        middleware(player, backend, configuration),
        createMiddleware({
          name: "Model",
          wrapModelCall: (request, handler) => handler({ ...request, model: player.model }),
        }),
      ],
    }));
    await thread.update({ _summarizationSessionId: SESSION }, thread.config, "model_request");
    return thread;
  }

  async state() {
    const values = await this.values();
    return { history: values.messages.map(fromLangChain), summary: summaryOf(values) };
  }
}

const whole = process.argv[2] === "whole";

await serve(
  {
    name: whole ? "deepagents (createAgent)" : "deepagents",
    version: version("deepagents"),
    language: "JavaScript",
    capabilities: [
      ...["message-trigger", "system", "summary-shown", "configure", "checkpoint", "edit"],
      ...(whole ? ["model-step"] : []),
    ],
    character: "UTF-16 unit",
    before: BEFORE,
    after: AFTER,
    failed_compressor: "fails",
  },
  (configuration, host) =>
    whole ? WholeThread.begin(configuration, host) : new WrappedThread(configuration, host),
);
