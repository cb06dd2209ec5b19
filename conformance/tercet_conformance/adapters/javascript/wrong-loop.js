// A twin of the loop with one fault, to see that the suite finds it: it takes the tools that a request offers for those
// that may be called, so that a filter denies. It breaks hooks.tools-offered and no other rule.
// Run it under the suite: tercet check -- node wrong-loop.js
"use strict";

const { serve } = require("./adapter.js");
const { Loop } = require("./loop.js");
const { Thread } = require("./summarizer.js");

class FilterDenies extends Loop {
  modelAsked(request) {
    this.offered = request.tools;
    return super.modelAsked(request);
  }

  used(call, approved) {
    if (this.offered.includes(call.name)) return super.used(call, approved);
    return { kind: "error", text: `${call.name} is not offered`, update: [] };
  }
}

serve("wrong loop in JavaScript", Thread, FilterDenies);
