/** A thread on the whole road: an agent, its models played by the suite, and its checkpointer in memory. */

import { load, fromLangChain, Player } from "./messages.mjs";

const { createAgent } = load("langchain");
const { MemorySaver } = load("@langchain/langgraph");

/** The node whose update is an input of the agent's; the one whose update is a copy of a checkpoint. */
const START = "__start__";
const COPY = "__copy__";

export class AgentThread {
  agents = new Map();
  saver = new MemorySaver();
  config = { configurable: { thread_id: "1" } };

  /** `settings(player, configuration)` are the agent's: its model and its middleware. */
  constructor(configuration, host, settings) {
    this.player = new Player(host);
    this.settings = settings;
    this.configure(configuration);
  }

  /** Set up new agents over the same checkpoints. */
  configure(configuration) {
    this.ofTheAgent = this.settings(this.player, configuration);
    this.agents.clear();
  }

  /** The agent with this system prompt; all of them share the checkpointer, and so the thread. */
  agent(system = null) {
    if (!this.agents.has(system)) {
      const prompt = system === null ? {} : { systemPrompt: system };
      this.agents.set(system, createAgent({ ...this.ofTheAgent, ...prompt, tools: [], checkpointer: this.saver }));
    }
    return this.agents.get(system);
  }

  update(values, config = this.config, node = START) {
    return this.agent().graph.updateState(config, values, node);
  }

  async append(messages) {
    const named = messages.map((message) => this.player.named(message));
    await this.update({ messages: named });
    return named.map((message) => message.id);
  }

  /** Run the agent from its start to the model's answer. */
  async step(system) {
    const controller = new AbortController();
    this.player.cancel = (failed) => controller.abort(failed);
    const config = { ...this.config, signal: controller.signal };
    try {
      const after = await this.agent(system).invoke({ messages: [] }, config);
      return after.messages.at(-1).id;
    } catch (error) {
      throw controller.signal.aborted ? controller.signal.reason : error;
    }
  }

  async values() {
    const { values } = await this.agent().graph.getState(this.config);
    return { ...values, messages: values.messages ?? [] };
  }

  async state() {
    return { history: (await this.values()).messages.map(fromLangChain) };
  }

  async checkpoint() {
    return (await this.agent().graph.getState(this.config)).config.configurable.checkpoint_id;
  }

  async restore(checkpoint) {
    await this.update(null, { configurable: { ...this.config.configurable, checkpoint_id: checkpoint } }, COPY);
  }

  async edit(history) {
    await this.update({ messages: this.player.changes((await this.values()).messages, history) });
  }
}
