// A complete small summarizer of an agent's thread, to be read and copied: when to summarise (the trigger), where to
// cut, how long a summary may be (the bound); with the wire around it (spec/wire.md). It counts UTF-16 units.
// Run it under the suite: tercet check --profile durable -- java Summarizer.java (with "wrong" behind, a faulty twin)

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.*;
import java.util.stream.Collectors;

final class Summarizer {
    public static void main(String[] arguments) {
        PrintStream wire = System.out;
        System.setOut(System.err); // stdout is the wire's alone
        if (List.of(arguments).contains("wrong")) {
            new Adapter("wrong summarizer in Java", CutsAnywhere::new, System.in, wire).serve();
        } else {
            new Adapter("summarizer in Java", SummarizedThread::new, System.in, wire).serve();
        }
    }
}

// The words of the field.

/** A call that an assistant message carries; its id may be empty, or missing: null. */
record ToolCall(String id, String name, String arguments) {}

/** A message of a thread; {@code answers} holds the ids of the calls that a tool message is the result of. */
record Message(String role, String content, List<ToolCall> calls, List<String> answers, String id) {
    static Message said(String role, String content) {
        return new Message(role, content, List.of(), List.of(), null);
    }

    Message storedAs(String storedId) {
        return new Message(role, content, calls, answers, storedId);
    }
}

/** A message for the requests of one step only, which follows the one stored under {@code after}; null is none. */
record Note(String after, Message message) {}

/** What is stored of a summary: its text, and the stored id of the last message that it covers. */
record Summary(String text, String through) {}

/** The trigger's kind and limit; keepRecent; the bound; the tokenCounter's base and divisor; others at work beside. */
record Configuration(String trigger, long limit, long keepRecent, long maxSummaryTokens,
        long base, long divisor, List<String> beside) {
    static final int LEAST_BOUND = 32;

    List<String> problems() {
        List<String> problems = new ArrayList<>();
        if (keepRecent < 1) problems.add("keepRecent is " + keepRecent + "; the least is 1");
        if (maxSummaryTokens < LEAST_BOUND) problems.add("a bound of " + maxSummaryTokens + "; the least is 32");
        if (!List.of("messages", "tokens").contains(trigger)) problems.add("a trigger of " + trigger + " is not known");
        if (limit < 1) problems.add("the trigger's limit is " + limit + "; the least is 1");
        for (String other : beside) problems.add("a " + other + " manages this thread too");
        return problems;
    }

    /** Warns where each added message passes the limit; a system prompt may come with any request. */
    List<String> warnings() {
        long passed = trigger.equals("messages") ? keepRecent + 2 : maxSummaryTokens;
        return limit <= passed ? List.of("each added message may pass this limit") : List.of();
    }
}

/** The compressor's or the model's answer, and the tokens that the call cost. */
record Answered<T>(T answer, long usage) {}

/** What a thread asks during a step; both calls throw Failed. */
interface Host {
    Answered<String> summarize(List<Message> given, String soFar);

    Answered<Message> answer(List<Message> request);
}

/** A configuration is not accepted, for these reasons. */
final class Refused extends RuntimeException {
    final List<String> problems;

    Refused(List<String> problems) {
        super(String.join("; ", problems));
        this.problems = problems;
    }
}

/** The compressor or the model gave no answer; {@code outcome} is how the step ends. */
final class Failed extends RuntimeException {
    final String outcome;
    final long usage;

    Failed(String outcome, long usage, String message) {
        super(message);
        this.outcome = outcome;
        this.usage = usage;
    }
}

// The summarizer.

/** The stored messages and their pairs: which tool call each tool result answers. A pair once formed never changes. */
final class History {
    /** A tool call: the position of its message, and those of its results. */
    private record Call(int position, List<Integer> results) {}

    /** A message's calls, and the calls that it answers. */
    private record Links(List<Call> calls, List<Call> answered) {}

    private static final class CallsOfId {
        final Deque<Call> unanswered = new ArrayDeque<>();
        Call latest;
    }

    private final List<Message> messages = new ArrayList<>();
    private final List<Links> links = new ArrayList<>();
    private final Map<String, Integer> positions = new HashMap<>();
    private final Map<String, CallsOfId> callsOfId = new HashMap<>(); // a missing id, null, is one like any other
    private int opening;

    History(List<Message> messages) {
        messages.forEach(this::add);
    }

    void add(Message message) {
        int position = messages.size();
        List<Call> answered = new ArrayList<>();
        for (String id : message.answers()) {
            Call call = answeredBy(id);
            if (call == null) continue;
            call.results().add(position);
            answered.add(call);
        }
        List<Call> calls = new ArrayList<>();
        for (ToolCall made : message.calls()) {
            Call call = new Call(position, new ArrayList<>());
            calls.add(call);
            CallsOfId ofId = callsOfId.computeIfAbsent(made.id(), id -> new CallsOfId());
            ofId.unanswered.push(call);
            ofId.latest = call;
        }
        if (message.role().equals("system") && opening == position) opening++;
        messages.add(message);
        links.add(new Links(calls, answered));
        positions.put(message.id(), position);
    }

    /** The nearest earlier call of an id that has no result; where all have one, the nearest; null for an orphan. */
    private Call answeredBy(String id) {
        CallsOfId ofId = callsOfId.get(id);
        if (ofId == null) return null;
        return ofId.unanswered.isEmpty() ? ofId.latest : ofId.unanswered.pop();
    }

    int size() {
        return messages.size();
    }

    /** How many system messages open the history. */
    int opening() {
        return opening;
    }

    Message get(int position) {
        return messages.get(position);
    }

    /** The messages between two positions, as they are now. */
    List<Message> part(int from, int to) {
        return List.copyOf(messages.subList(from, Math.max(from, to)));
    }

    /** The position of a message, -1 where the history does not hold it. */
    int position(String id) {
        return positions.getOrDefault(id, -1);
    }

    boolean holds(Message message) {
        int position = position(message.id());
        return position >= 0 && get(position).equals(message);
    }

    /** Moves a cut earlier until no result at or after it answers a call of the tail before it. */
    long legalCut(int start, long latest) {
        long cut = latest;
        for (int position = size() - 1; position >= cut && cut > start; position--) {
            for (Call call : links.get(position).answered()) {
                if (call.position() >= start) cut = Math.min(cut, call.position());
            }
        }
        return cut;
    }

    /** The messages before {@code start} that late results from there to {@code until} need beside them, in order. */
    List<Message> calledBack(int start, int until) {
        SortedSet<Integer> back = new TreeSet<>();
        Deque<Integer> needed = new ArrayDeque<>();
        for (Links late : links.subList(start, until)) late.answered().forEach(call -> needed.push(call.position()));
        while (!needed.isEmpty()) {
            int position = needed.pop();
            if (position >= start || !back.add(position)) continue;
            for (Call call : links.get(position).calls()) {
                int last = call.results().stream().filter(result -> result < start).max(Integer::compare).orElse(-1);
                if (last < 0) continue;
                needed.push(last);
                links.get(last).answered().forEach(other -> needed.push(other.position()));
            }
        }
        return back.stream().map(messages::get).toList();
    }
}

/** One thread: it decides at each step whether to summarise, asks its host, and stores what comes of it. */
class SummarizedThread {
    static final String BEFORE = "Earlier in this conversation: ";
    private static final int CHARACTERS_PER_TOKEN = 4;

    /** What a request shows: the summary's text, null without one, and the position of the tail's first message. */
    record View(String text, int start) {}

    /** A thread as it was when it was put by. */
    record Saved(List<Message> messages, Summary summary) {}

    private final Host host;
    private Configuration configuration;
    private History history = new History(List.of());
    private Summary summary;
    private long usage;
    private long idsGiven;

    SummarizedThread(Configuration configuration, Host host) {
        this.host = host;
        configure(configuration);
    }

    final void configure(Configuration changed) {
        if (!changed.problems().isEmpty()) throw new Refused(changed.problems());
        configuration = changed;
    }

    long usage() {
        return usage;
    }

    List<String> warnings() {
        return configuration.warnings();
    }

    /** Stores a message and returns its stored id. */
    String append(Message message) {
        String id = "m" + ++idsGiven;
        history.add(message.storedAs(id));
        return id;
    }

    /** Takes one model step and returns the answer's stored id. Nothing is stored before the model has answered. */
    String step(String system, List<Note> notes, List<String> pending) {
        View standing = standing();
        View view = summarized(system, notes, pending, standing);
        Message answer = counted(() -> host.answer(request(system, notes, view)));
        if (view != standing) summary = new Summary(view.text(), history.get(view.start() - 1).id());
        return append(answer);
    }

    /** The thread as it is now, to be put back after a block of the turn that begins, or at a restore. */
    Saved saved() {
        return new Saved(history.part(0, history.size()), summary);
    }

    /** Puts the thread back to what it was when it was saved. What was used since stays used. */
    void putBack(Saved saved) {
        history = new History(saved.messages());
        summary = saved.summary();
    }

    /** Takes what another party made of the history; a summary of messages that are no longer there is cleared. */
    void edit(List<Message> messages) {
        History edited = new History(messages);
        int end = summary == null ? 0 : placeAfter(summary.through());
        if (!history.part(history.opening(), end).stream().allMatch(edited::holds)) summary = null;
        history = edited;
    }

    /** Makes a call whose usage counts, however it ends. */
    private <T> T counted(Supplier<Answered<T>> call) {
        try {
            Answered<T> answered = call.get();
            usage += answered.usage();
            return answered.answer();
        } catch (Failed failed) {
            usage += failed.usage;
            throw failed;
        }
    }

    /** The view under the stored summary where it applies; else the one of the whole history. */
    private View standing() {
        if (summary != null) {
            String text = bounded(summary.text());
            int anchor = history.position(summary.through());
            boolean hasTail = history.opening() <= anchor && anchor < history.size() - 1;
            if (hasTail && !isBlank(text)) return new View(text, anchor + 1);
        }
        return new View(null, history.opening());
    }

    /** The view under a new summary where one is due and a cut is usable; else the one that stands. */
    private View summarized(String system, List<Note> notes, List<String> pending, View standing) {
        int start = standing.start();
        if (measure(request(system, notes, standing)) <= configuration.limit()) return standing;
        long usable = cut(start, pending);
        if (usable <= start) return standing;
        int cut = Math.toIntExact(usable);
        List<Message> given = new ArrayList<>(history.calledBack(start, cut));
        given.addAll(history.part(start, cut));
        String text = bounded(counted(() -> host.summarize(given, standing.text())));
        if (isBlank(text)) throw new Failed("failed", 0, "the compressor's text is blank");
        return new View(text, cut);
    }

    /** The latest usable cut; where there is none, the start or less. */
    long cut(int start, List<String> pending) {
        return history.legalCut(start, latestCut(start, pending));
    }

    /** The latest cut that keeps keepRecent messages and stays before every pending call; it may be illegal. */
    final long latestCut(int start, List<String> pending) {
        long latest = history.size() - configuration.keepRecent();
        for (String waiting : pending) {
            int position = history.position(waiting);
            if (position >= start) latest = Math.min(latest, position);
        }
        return latest;
    }

    /** What a view sends. A note keeps its place; where a neighbour of it is covered, it comes before the tail. */
    private List<Message> request(String system, List<Note> notes, View view) {
        int opening = history.opening();
        int start = view.start();
        Map<Integer, List<Message>> notesAt = new HashMap<>();
        List<Message> besideCovered = new ArrayList<>();
        for (Note note : notes) {
            int place = placeAfter(note.after());
            boolean isBeside = opening < start && opening <= place && place <= start;
            List<Message> there = isBeside ? besideCovered : notesAt.computeIfAbsent(place, at -> new ArrayList<>());
            there.add(note.message());
        }
        List<Message> request = new ArrayList<>();
        if (system != null) request.add(Message.said("system", system));
        for (int position = 0; position <= history.size(); position++) {
            if (position == opening) {
                if (view.text() != null) request.add(Message.said("user", BEFORE + view.text()));
                request.addAll(history.calledBack(start, history.size()));
                request.addAll(besideCovered);
                position = start;
            }
            request.addAll(notesAt.getOrDefault(position, List.of()));
            if (position < history.size()) request.add(history.get(position));
        }
        return request;
    }

    private int placeAfter(String id) {
        return id == null ? 0 : history.position(id) + 1;
    }

    private long measure(List<Message> request) {
        if (configuration.trigger().equals("messages")) return request.size();
        return request.stream().mapToLong(this::tokens).sum();
    }

    private long tokens(Message message) {
        long characters = message.content().length();
        for (ToolCall call : message.calls()) characters += call.name().length() + call.arguments().length();
        return configuration.base() + (characters + configuration.divisor() - 1) / configuration.divisor();
    }

    /** The longest beginning within the bound that splits no surrogate pair. */
    private String bounded(String text) {
        long bound = CHARACTERS_PER_TOKEN * configuration.maxSummaryTokens();
        if (text.length() <= bound) return text;
        int end = (int) bound;
        boolean splits = Character.isSurrogatePair(text.charAt(end - 1), text.charAt(end));
        return text.substring(0, splits ? end - 1 : end);
    }

    /** String.isBlank() is no test of this: it takes U+001C for white space, and U+00A0 for none. */
    private static boolean isBlank(String text) {
        return text.matches("\\p{IsWhite_Space}*");
    }
}

/** A twin with one fault: it cuts where keepRecent says, a call from its result too. It breaks cut.pairs. */
final class CutsAnywhere extends SummarizedThread {
    CutsAnywhere(Configuration configuration, Host host) {
        super(configuration, host);
    }

    @Override
    long cut(int start, List<String> pending) {
        return super.cut(start, pending) > start ? latestCut(start, pending) : start;
    }
}

// The wire.

/** Answers the suite's calls until the input ends; each line is one JSON object, read and written whole. */
final class Adapter {
    private static final List<String> CAPABILITIES = List.of(
            "message-trigger", "token-trigger", "bound", "system", "summary-shown", "exact-input", "missing-ids",
            "notes", "pending", "model-step", "suspend", "turns", "checkpoint", "edit", "restores-key",
            "usage", "configure", "refuses", "warns", "beside");

    private final String name;
    private final BiFunction<Configuration, Host, SummarizedThread> threads;
    private final InputStream input;
    private final PrintStream output;
    private final Map<Long, Session> sessions = new HashMap<>();
    private long asked;

    Adapter(String name, BiFunction<Configuration, Host, SummarizedThread> threads, InputStream in, PrintStream out) {
        this.name = name;
        this.threads = threads;
        this.input = in;
        this.output = out;
    }

    void serve() {
        for (Json told = read(); told != null; told = read()) {
            Map<String, Object> envelope = Json.object("id", told.get("id").number());
            try {
                envelope.put("returned", returned(told));
            } catch (Refused refused) {
                envelope.put("refused", refused.problems);
            } catch (RuntimeException error) {
                envelope.put("raised", error.toString());
            }
            write(envelope);
        }
    }

    private Map<String, Object> returned(Json told) {
        String call = told.get("call").text();
        if (call.equals("hello")) {
            return Json.object("wire", 1, "name", name, "version", "1", "language", "Java",
                    "capabilities", CAPABILITIES, "character", "UTF-16 unit", "before", SummarizedThread.BEFORE);
        }
        long number = told.get("session").number();
        if (call.equals("open")) sessions.put(number, new Session(this, told, threads));
        Session session = call.equals("close") ? sessions.remove(number) : sessions.get(number);
        return call.equals("close") ? Json.object() : session.returned(call, told);
    }

    /** Asks the suite and waits for its answer; throws Failed where it gives none. */
    Json ask(Map<String, Object> question) {
        question.put("ask", ++asked);
        write(question);
        Json told = read();
        if (told == null) throw new IllegalStateException("the input ended while a question was open");
        Json failed = told.get("failed");
        if (failed.value() == null) return told.get("answered");
        throw new Failed(failed.get("failure").text(), failed.get("usage").number(), "no answer");
    }

    /** Reads an object; null at the end of the input. */
    private Json read() {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        try {
            for (int next = input.read(); next != '\n'; next = input.read()) {
                if (next < 0) return null;
                line.write(next);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return Json.read(line.toString(StandardCharsets.UTF_8));
    }

    private void write(Map<String, Object> envelope) {
        output.print(Json.write(envelope) + "\n");
        output.flush();
    }
}

/** A thread and what was said of it on the wire. The thread's host is the suite: it is asked, and answers. */
final class Session implements Host {
    private final Adapter adapter;
    private final long number;
    private final SummarizedThread thread;
    private final List<SummarizedThread.Saved> checkpoints = new ArrayList<>();
    private SummarizedThread.Saved began;
    private List<Message> shown = List.of();
    private List<Message> requested = List.of();

    Session(Adapter adapter, Json opened, BiFunction<Configuration, Host, SummarizedThread> threads) {
        this.adapter = adapter;
        this.number = opened.get("session").number();
        this.thread = threads.apply(configuration(opened.get("configuration")), this);
    }

    @Override
    public Answered<String> summarize(List<Message> given, String soFar) {
        Json told = adapter.ask(Json.object(
                "question", "summarize", "session", number, "given", messages(given), "so_far", soFar));
        return new Answered<>(told.get("text").text(), told.get("usage").number());
    }

    @Override
    public Answered<Message> answer(List<Message> request) {
        Object change = change(requested, request);
        requested = request;
        Json told = adapter.ask(Json.object("question", "answer", "session", number, "request", change));
        return new Answered<>(message(told.get("message")), told.get("usage").number());
    }

    /** Does what a call says, and tells what it returns. */
    Map<String, Object> returned(String call, Json told) {
        Map<String, Object> returned = Json.object();
        switch (call) {
            case "open" -> {}
            case "append" -> returned.put(
                    "ids", told.get("messages").list(Session::message).stream().map(thread::append).toList());
            case "step" -> step(told, returned);
            case "configure" -> thread.configure(configuration(told.get("configuration")));
            case "begin_turn" -> began = thread.saved();
            case "end_turn" -> {
                if (told.get("blocked").value().equals(true)) thread.putBack(began);
            }
            case "checkpoint" -> {
                returned.put("checkpoint", String.valueOf(checkpoints.size()));
                checkpoints.add(thread.saved());
            }
            case "restore" -> thread.putBack(checkpoints.get(Integer.parseInt(told.get("checkpoint").text())));
            case "edit" -> thread.edit(changed(shown, told.get("history")));
            default -> throw new IllegalArgumentException("no such call: " + call);
        }
        returned.put("state", state());
        return returned;
    }

    private void step(Json told, Map<String, Object> returned) {
        List<Note> notes = told.get("notes")
                .list(note -> new Note(note.get("after").text(), message(note.get("message"))));
        List<String> pending = told.get("pending").list(call -> call.get("message").text());
        try {
            returned.put("answer_id", thread.step(told.get("system").text(), notes, pending));
            returned.put("outcome", "committed");
        } catch (Failed failed) {
            returned.put("outcome", failed.outcome);
        }
    }

    /** The thread as it is now; the history as what became of the one that was shown last. */
    private Object state() {
        List<Message> before = shown;
        SummarizedThread.Saved now = thread.saved();
        Summary summary = now.summary();
        shown = now.messages();
        Object key = summary == null ? null : Json.object("text", summary.text(), "through", summary.through());
        return Json.object("history", change(before, shown),
                "summary", key, "usage", thread.usage(), "warnings", thread.warnings());
    }

    /** What became of a list of messages: the beginning that is as it was, and all that comes after. */
    private static Object change(List<Message> before, List<Message> after) {
        int keep = 0;
        while (keep < Math.min(before.size(), after.size()) && after.get(keep).equals(before.get(keep))) keep++;
        return Json.object("keep", keep, "add", messages(after.subList(keep, after.size())));
    }

    private static List<Message> changed(List<Message> before, Json change) {
        int keep = (int) change.get("keep").number();
        Json drop = change.get("drop");
        List<Message> after = new ArrayList<>(before.subList(0, keep));
        after.addAll(change.get("add").list(Session::message));
        if (drop.value() != null) after.addAll(before.subList(keep + (int) drop.number(), before.size()));
        return after;
    }

    private static Configuration configuration(Json told) {
        Json trigger = told.get("trigger");
        Json counter = told.get("token_counter");
        return new Configuration(trigger.get("kind").text(), trigger.get("limit").number(),
                told.get("keep_recent").number(), told.get("max_summary_tokens").number(),
                counter.get("base").number(), counter.get("divisor").number(), told.get("beside").list(Json::text));
    }

    private static Message message(Json told) {
        List<ToolCall> calls = told.get("calls").list(call ->
                new ToolCall(call.get("id").text(), call.get("name").text(), call.get("arguments").text()));
        List<String> answers = told.get("answers").list(Json::text);
        String content = Objects.requireNonNullElse(told.get("content").text(), "");
        return new Message(told.get("role").text(), content, calls, answers, told.get("id").text());
    }

    private static Object messages(List<Message> messages) {
        return messages.stream().map(message -> Json.object(
                "role", message.role(), "content", message.content(),
                "calls", message.calls().stream().map(call -> Json.object(
                        "id", call.id(), "name", call.name(), "arguments", call.arguments())).toList(),
                "answers", message.answers(), "id", message.id())).toList();
    }
}

/** A value of JSON: a map, a list, a text, a whole number, a truth value, or null, which a missing field is too. */
record Json(Object value) {
    /** Makes an object of names and values, one after the other. */
    static Map<String, Object> object(Object... fields) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int at = 0; at < fields.length; at += 2) object.put((String) fields[at], fields[at + 1]);
        return object;
    }

    static Json read(String text) {
        return new Json(new JsonReader(text).value());
    }

    static String write(Object value) {
        if (value instanceof Map<?, ?> fields) {
            return fields.entrySet().stream().map(field -> write(field.getKey()) + ":" + write(field.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof List<?> elements) {
            return elements.stream().map(Json::write).collect(Collectors.joining(",", "[", "]"));
        }
        return value instanceof String text ? quoted(text) : String.valueOf(value);
    }

    Json get(String field) {
        return new Json(((Map<?, ?>) value).get(field));
    }

    /** The text; null where there is none. */
    String text() {
        return (String) value;
    }

    /** The number; 0 where there is none. */
    long number() {
        return value == null ? 0 : (Long) value;
    }

    /** The list, each element read; empty where there is none. */
    <T> List<T> list(Function<Json, T> read) {
        List<T> list = new ArrayList<>();
        if (value != null) ((List<?>) value).forEach(element -> list.add(read.apply(new Json(element))));
        return list;
    }

    /** Writes ASCII only: so half a character, an unpaired surrogate, is written like any other. */
    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') {
                quoted.append('\\').append(each);
            } else if (each < ' ' || each > '~') {
                quoted.append("\\u").append(Integer.toHexString(0x10000 | each).substring(1));
            } else {
                quoted.append(each);
            }
        }
        return quoted.append('"').toString();
    }
}

/** Reads what is known to be JSON. Each method but value() begins behind the first character of what it reads. */
final class JsonReader {
    private final String json;
    private int at;

    JsonReader(String json) {
        this.json = json;
    }

    Object value() {
        return switch (next()) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> text();
            case 't' -> literal("true", true);
            case 'f' -> literal("false", false);
            case 'n' -> literal("null", null);
            default -> number();
        };
    }

    /** Takes the next character that is not white space. */
    private char next() {
        while (" \t\r\n".indexOf(json.charAt(at)) >= 0) at++;
        return json.charAt(at++);
    }

    private Map<String, Object> object() {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (char next = next(); next != '}'; next = next()) {
            if (next == ',') next(); // the quotation mark
            String name = text();
            next(); // the colon
            fields.put(name, value());
        }
        return fields;
    }

    private List<Object> array() {
        List<Object> elements = new ArrayList<>();
        for (char next = next(); next != ']'; next = next()) {
            if (next != ',') at--;
            elements.add(value());
        }
        return elements;
    }

    private String text() {
        StringBuilder text = new StringBuilder();
        for (char each = json.charAt(at++); each != '"'; each = json.charAt(at++)) {
            text.append(each == '\\' ? escaped() : each);
        }
        return text.toString();
    }

    private char escaped() {
        char escape = json.charAt(at++);
        return switch (escape) {
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> (char) Integer.parseInt(json.substring(at, at += 4), 16);
            default -> escape;
        };
    }

    private Object literal(String literal, Object value) {
        at += literal.length() - 1;
        return value;
    }

    private Long number() {
        int start = at - 1;
        while (at < json.length() && "-0123456789".indexOf(json.charAt(at)) >= 0) at++;
        return Long.valueOf(json.substring(start, at));
    }
}
