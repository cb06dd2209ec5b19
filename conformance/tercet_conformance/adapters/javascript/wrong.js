// A twin of the summarizer with one fault, to see that the suite finds it: it fires at the limit, where only a request
// past the limit is to be summarised. It breaks trigger.strictly-past and no other rule.
// Run it under the suite: tercet check -- node wrong.js
"use strict";

const { serve } = require("./adapter.js");
const { Thread } = require("./summarizer.js");

class FiresAtTheLimit extends Thread {
  isPast(size) {
    return size >= this.configuration.trigger.limit;
  }
}

serve("wrong summarizer in JavaScript", FiresAtTheLimit);
