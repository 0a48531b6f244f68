// The page for phones: a session's conversation as it goes on, its questions, what it changed, and a way to stop it.
//
// Everything that is shown was written by a model, a tool or a file: it gets into the page as text, never as markup.
// The token comes behind the # of the address, which no browser sends anywhere, and stays in this tab.

import { isLong, named, namedInContent, namedInProse } from "./shown.js";

const MOST_ENTRIES = 400;
const MOST_LINES = 4000;
const MOST_EVENTS = 3000; // of a long session, what is before is not fetched
const LONGEST_WAIT_MS = 10_000;

const at = (id) => document.getElementById(id);
const shown = { session: "", last: 0, entries: new Map(), streaming: null, reading: null, isRunning: false };

// -- the token and the server --

function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem("token") ?? "";
}

async function ask(path, { method = "GET", body, signal, headers = {} } = {}) {
  const given = { authorization: `Bearer ${token()}`, ...headers };
  if (body !== undefined) given["content-type"] = "application/json";
  const answer = await fetch(path, {
    method, signal, headers: given, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store",
  });
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({ error: { message: `The server answered ${answer.status}.` } }));
  const refused = new Error([error.message, error.hint].filter(Boolean).join(" "));
  refused.status = answer.status;
  throw refused;
}

const ofSession = (rest) => `/v1/sessions/${encodeURIComponent(shown.session)}${rest}`;

async function tryTo(work) {
  try {
    const result = await work();
    say("");
    return result;
  } catch (error) {
    if (error.name !== "AbortError") say(error.status === 401 ? "This link is not valid any more. Open the one that `serve` printed." : error.message);
    return undefined;
  }
}

function say(text) {
  at("message").textContent = text;
  at("message").hidden = !text;
}

// -- what is shown --

function element(tag, { text, name, children = [], show = named } = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) {
    made.textContent = show(text);
    made.isCut = show === named && isLong(text);
  }
  if (name) made.className = name;
  made.append(...children);
  return made;
}

function add(entry) {
  const list = at("conversation");
  list.append(entry);
  while (list.childElementCount > MOST_ENTRIES) list.firstElementChild.remove();
  return entry;
}

// Shows more. Who is at the end of the conversation stays there, who has scrolled up is left alone.
function keepingTheEnd(show) {
  const main = at("conversation").parentElement;
  const isAtEnd = !at("conversation").hidden && main.scrollHeight - main.scrollTop - main.clientHeight < 80;
  show();
  if (isAtEnd) main.scrollTop = main.scrollHeight;
}

function showState(text, isWaiting = false) {
  at("state").textContent = text;
  at("state").className = isWaiting ? "waits" : "";
}

function updateState() {
  const waiting = at("approvals").childElementCount;
  at("stop").disabled = !shown.isRunning;
  if (waiting) showState(waiting === 1 ? "waits for you" : `${waiting} questions wait`, true);
  else showState(shown.isRunning ? "works" : "");
}

function takeIn(event) {
  switch (event.type) {
    case "prompt_submitted":
      if (event.turn === 1) nameSession(event.text.split("\n")[0]);
      add(element("div", { name: "prompt", text: event.text, show: namedInProse }));
      break;
    case "turn_started":
      shown.isRunning = true;
      break;
    case "turn_ended":
      shown.isRunning = false;
      shown.streaming = null;
      if (event.reason !== "completed") add(element("div", { name: "notice", text: `The turn ended: ${event.is_cut_off ? "cut off, because the application ended" : event.reason.replaceAll("_", " ")}.` }));
      break;
    case "text_delta":
      shown.streaming ??= add(element("div", { name: "reply" }));
      shown.streaming.append(namedInProse(event.text));
      break;
    case "message_done": {
      const text = event.content.filter((block) => block.type === "text").map((block) => block.text).join("\n\n").trim();
      if (shown.streaming) shown.streaming.textContent = namedInProse(text);
      else if (text) add(element("div", { name: "reply", text, show: namedInProse }));
      shown.streaming = null;
      break;
    }
    case "tool_call_started":
      shown.entries.set(event.call.id, add(element("div", { name: "call", children: [element("b", { text: event.call.name }), element("span", { text: event.title })] })));
      break;
    case "tool_call_finished":
      shown.entries.get(event.call_id)?.classList.add(event.state);
      shown.entries.delete(event.call_id);
      break;
    case "notice":
      add(element("div", { name: `notice ${event.level}`, text: [event.title, event.hint].filter(Boolean).join(" ") }));
      break;
    case "command_run":
      add(element("div", { name: "notice", text: `${event.text}\n${event.output}`, show: namedInProse }));
      break;
    case "approval_requested":
      question(event.request);
      break;
    case "approval_resolved":
      for (const one of [...at("approvals").children]) if (one.dataset.call === event.call_id) one.remove();
      break;
    case "changes_recorded": case "changes_undone": case "changes_redone":
      if (!at("changes").hidden && event.seq > 0) void showChanges();
      break;
    case "session_renamed":
      nameSession(event.title);
      break;
  }
  updateState();
}

function nameSession(title) {
  for (const option of at("session").options) if (option.value === shown.session) option.textContent = named(title);
}

// -- questions --

function question(request) {
  for (const one of at("approvals").children) if (one.dataset.call === request.call_id) return;
  const made = card(request);
  at("approvals").append(made);
  made.scrollIntoView({ block: "nearest" });
  look(made);
}

function card(request) {
  const place = ofSession(`/approvals/${encodeURIComponent(request.call_id)}`);
  const form = request.question?.fields?.length > 0 ? formOf(request.question.fields) : null;
  const children = [element("h2", { text: request.title })];
  if (request.reason) children.push(element("p", { text: request.reason }));
  if (request.question) children.push(element("p", { text: `${request.question.server} asks: ${request.question.message}` }));
  if (request.question?.address) children.push(element("pre", { text: request.question.address }));
  if (request.question?.sampling) children.push(element("pre", { text: request.question.sampling.texts.map((one) => `${one.role}: ${one.text}`).join("\n\n") }));
  if (request.tool_change) children.push(element("pre", { text: request.tool_change.diff }));
  if (request.spending) children.push(element("p", { text: `Spent $${request.spending.spent_usd.toFixed(2)} of $${request.spending.limit_usd.toFixed(2)}. Yes lets it spend up to $${request.spending.until_usd.toFixed(2)}.` }));
  if (request.explanation) children.push(element("p", { text: `The agent says: ${request.explanation}` }));
  const called = calledBy(request);
  if (called.text) children.push(element("pre", { name: "called", text: called.text }));
  if (request.command !== null) children.push(element("pre", { text: request.command }));
  if (request.cwd) children.push(element("p", { text: `In ${request.cwd}` }));
  for (const detail of request.details) children.push(element("p", { text: detail }));
  if (request.changes.length) {
    const diff = element("pre", { name: "diff", text: request.changes.map(describe).join("\n") });
    diff.isCut = true; // until it has come
    children.push(diff);
    void showDiff(diff, `${place}/diff`);
  }
  if (request.confinement) children.push(element("p", { text: request.confinement }));
  for (const note of [...request.risks, ...request.safety]) children.push(element("p", { name: "risk", text: note }));
  if (form) children.push(form.shown);
  const word = element("textarea", { name: "word" });
  word.rows = 1;
  word.placeholder = "A word to the agent, if you deny";
  word.setAttribute("aria-label", word.placeholder);
  const allow = element("button", { name: "primary allow", text: form ? "Answer" : "Allow once" });
  const deny = element("button", { name: "danger deny", text: "Deny" });
  const parts = [...children];
  const answer = (decision) => tryTo(async () => {
    made.isAnswered = true;
    deny.disabled = true;
    look(made);
    try {
      await ask(place, { method: "POST", body: decision });
    } catch (error) {
      made.isAnswered = deny.disabled = false;
      look(made);
      throw error;
    }
  });
  if (!called.isExact) {
    children.push(element("p", { name: "risk", text: "A number in it is too large to be shown exactly here: answer in the window." }));
  }
  allow.addEventListener("click", () => answer({ outcome: "allowed", scope: "once", answers: form?.answers() ?? {} }));
  deny.addEventListener("click", () => answer({ outcome: "denied", message: word.value.trim() }));
  const unseen = element("div", { name: "unseen", children: [element("span"), element("button", { text: "Show more" })] });
  children.push(unseen, word, element("div", { name: "buttons", children: [deny, allow] }));
  const made = element("article", { name: "card", children });
  made.dataset.call = request.call_id;
  Object.assign(made, { parts, allow, unseen, isInexact: !called.isExact });
  unseen.lastChild.addEventListener("click", () => showMore(made));
  allow.disabled = true; // until all of it was in sight
  return made;
}

// What would be called, and with what. A number that JavaScript has read as another one does not pass for the real one.
function calledBy(request) {
  const server = request.server ?? "", given = request.arguments ?? {};
  if (!server && !Object.keys(given).length) return { text: "", isExact: true };
  let isExact = true;
  const noted = (_name, value) => {
    if (typeof value !== "number" || !Number.isInteger(value) || Number.isSafeInteger(value)) return value;
    isExact = false;
    return "?";
  };
  const name = server ? `${server}/${request.server_tool}` : request.tool;
  return { text: `${name}\n${JSON.stringify(given, noted, 2)}`, isExact };
}

// -- what was in sight --

// Only what was shown from its beginning to its end can be allowed, as in the window. `seen` is how far down a part was
// in sight without a gap, in pixels of its content.

const room = () => at("conversation").parentElement.getBoundingClientRect();
const isAllSeen = (part) => part.seen >= part.scrollHeight - 2;

function look(made) {
  const { top, bottom } = room();
  for (const part of made.parts) {
    if (part.seen === undefined || (part.seenHeight !== part.scrollHeight && !part.wasSeen)) part.seen = 0;
    part.seenHeight = part.scrollHeight;
    const box = part.getBoundingClientRect();
    const start = Math.max(0, top - box.top) + part.scrollTop;
    const end = Math.min(box.height, bottom - box.top) + part.scrollTop;
    const isInSight = document.visibilityState === "visible" && made.isConnected && end > start;
    if (isInSight && start <= part.seen + 1) part.seen = Math.max(part.seen, Math.ceil(end));
    part.wasSeen ||= isInSight && isAllSeen(part);
  }
  const isCut = made.parts.some((part) => part.isCut);
  const isUnseen = !made.parts.every((part) => part.wasSeen);
  made.allow.disabled = made.isAnswered === true || made.isInexact || isCut || isUnseen;
  made.unseen.hidden = !isCut && !isUnseen;
  const [words, more] = made.unseen.children;
  words.textContent = isUnseen ? "You have not seen all of it." : "Not all of it can be shown here. Allow it in the window.";
  more.hidden = !isUnseen;
}

function lookAtAll() {
  for (const made of at("approvals").children) look(made);
}

function showMore(made) {
  const part = made.parts.find((one) => !one.wasSeen);
  if (!part) return;
  part.scrollTop = Math.max(0, part.seen - 20);
  const { top, bottom } = room();
  const next = part.getBoundingClientRect().top + part.seen - part.scrollTop;
  if (next < top || next > bottom - 60) at("conversation").parentElement.scrollTop += next - top - 20;
  look(made);
}

for (const kind of ["scroll", "visibilitychange"]) document.addEventListener(kind, lookAtAll, { capture: true, passive: true });
window.addEventListener("resize", lookAtAll);

// -- forms of servers --

// What is left empty is not sent; whether the rest is as the server wants it is judged by our own server, in words.
function formOf(fields) {
  const made = fields.map((field) => ({ field, ...inputOf(field) }));
  return {
    shown: element("div", { name: "form", children: made.map(({ shown }) => shown) }),
    answers: () => Object.fromEntries(made.map(({ field, value }) => [field.name, value()]).filter(([, value]) => value !== null)),
  };
}

function inputOf(field) {
  const words = [element("span", { text: field.is_required ? `${field.label} (needed)` : field.label })];
  if (field.description) words.push(element("small", { text: field.description }));
  if (field.kind === "choices") return choicesOf(field, words);
  const input = field.kind === "boolean" || field.kind === "choice" ? selectOf(field) : typedOf(field);
  const shown = element("label", { children: [...words, input] });
  return { shown, value: () => (input.value === "" ? null : read(field, input.value)) };
}

function choicesOf(field, words) {
  const boxes = field.options.map((option) => {
    const box = element("input");
    box.type = "checkbox";
    box.checked = field.default?.includes(option.value) ?? false;
    return { box, option, shown: element("label", { name: "choice", children: [box, element("span", { text: option.label })] }) };
  });
  const legend = element("legend", { children: words });
  const shown = element("fieldset", { children: [legend, ...boxes.map((one) => one.shown)] });
  const value = () => {
    const chosen = boxes.filter(({ box }) => box.checked).map(({ option }) => option.value);
    return chosen.length || field.is_required ? chosen : null;
  };
  return { shown, value };
}

function selectOf(field) {
  const options = field.kind === "boolean" ? [{ value: "yes", label: "Yes" }, { value: "no", label: "No" }] : field.options;
  const select = element("select");
  for (const { value, label } of [{ value: "", label: "–" }, ...options]) {
    const option = element("option", { text: label });
    option.value = value;
    select.append(option);
  }
  if (typeof field.default === "boolean") select.value = field.default ? "yes" : "no";
  else if (field.default !== null) select.value = field.default;
  return select;
}

function typedOf(field) {
  const input = element("input");
  const isNumber = field.kind === "number" || field.kind === "integer";
  input.inputMode = isNumber ? "decimal" : { email: "email", uri: "url" }[field.format] ?? "text";
  input.placeholder = { date: "2026-01-31", "date-time": "2026-01-31T12:00:00Z" }[field.format] ?? "";
  if (field.default !== null) input.value = field.default;
  return input;
}

function read(field, written) {
  if (field.kind === "boolean") return written === "yes";
  const isNumber = field.kind === "number" || field.kind === "integer";
  return isNumber && written.trim() !== "" && Number.isFinite(Number(written)) ? Number(written) : written;
}

async function showDiff(diff, path) {
  await new Promise((done) => setTimeout(done)); // of a session from before, the answer comes with the question
  if (!diff.isConnected) return;
  try {
    const { rows, isCut } = drawn(await (await ask(path)).text());
    keepingTheEnd(() => diff.replaceChildren(...rows));
    Object.assign(diff, { isCut, seen: 0, wasSeen: false });
    diff.closest(".card")?.scrollIntoView({ block: "nearest" });
    lookAtAll();
  } catch (error) {
    if (diff.isConnected) say(error.message); // otherwise the question was answered meanwhile
  }
}

const describe = (change) => `${change.kind}  ${change.path}  ${change.is_binary ? "binary" : `+${change.added} −${change.removed}`}`;

// -- changes --

async function showChanges() {
  const session = shown.session;
  await tryTo(async () => {
    const patch = await (await ask(ofSession("/diff"))).text();
    if (session !== shown.session) return;
    const nothing = element("p", { name: "empty", text: "Nothing was changed." });
    at("changes").replaceChildren(patch ? element("pre", { name: "diff", children: drawn(patch).rows }) : nothing);
  });
}

function drawn(patch) {
  const lines = patch.replace(/\n$/, "").split("\n");
  const rows = [];
  let head = null; // the row of a file's name, until its first hunk
  for (const text of lines.slice(0, MOST_LINES)) {
    if (text.startsWith("diff --git ")) {
      head = element("span", { name: "file", text: text.slice(text.indexOf(" b/") + 3) });
      rows.push(head);
    } else if (text.startsWith("@@")) {
      head = null;
      rows.push(element("span", { name: "hunk", text }));
    } else if (head === null) {
      rows.push(element("span", { name: { "+": "added", "-": "removed" }[text[0]] ?? "", text, show: namedInContent }));
    } else if (/^[-+]{3} [ab]\//.test(text)) {
      head.textContent = named(text.slice(6));
    } else if (/^(new|deleted) file|^(rename|old|new|Binary|GIT binary)/.test(text)) {
      rows.push(element("span", { name: "hunk", text }));
    }
  }
  const isCut = lines.length > MOST_LINES;
  if (isCut) rows.push(element("span", { name: "hunk", text: `${lines.length - MOST_LINES} more lines.` }));
  return { rows, isCut };
}

// -- events --

async function* blocksOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const block = { event: "", id: "", data: "" };
      for (const line of part.split("\n")) {
        const colon = line.indexOf(": ");
        if (colon > 0) block[line.slice(0, colon)] = line.slice(colon + 2);
      }
      if (block.data) yield block;
    }
  }
}

async function follow(session, signal) {
  for (let wait = 500; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      const answer = await ask(ofSession("/events"), { signal, headers: { "last-event-id": String(shown.last) } });
      say("");
      for await (const block of blocksOf(answer)) {
        wait = 500;
        if (block.event === "error") throw new Error(JSON.parse(block.data).message);
        keepingTheEnd(() => takeIn(JSON.parse(block.data)));
        if (block.id) shown.last = Number(block.id);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401 || error.status === 404) {
        await tryTo(() => { throw error; });
        return;
      }
      say("The connection was lost. Trying again…");
    }
    await new Promise((done) => setTimeout(done, wait));
  }
}

async function choose(session) {
  shown.reading?.abort();
  shown.reading = new AbortController();
  Object.assign(shown, { session, last: 0, streaming: null, isRunning: false });
  shown.entries.clear();
  for (const id of ["conversation", "approvals", "changes"]) at(id).replaceChildren();
  updateState();
  if (!at("changes").hidden) void showChanges();
  if (!session) {
    add(element("p", { name: "empty", text: "What you send starts a session." }));
    return;
  }
  const { signal } = shown.reading;
  const view = await tryTo(async () => (await ask(ofSession(""), { signal })).json());
  if (signal.aborted) return;
  if (view && view.last_seq > MOST_EVENTS) {
    shown.last = view.last_seq - MOST_EVENTS;
    shown.isRunning = view.is_running;
    add(element("div", { name: "notice", text: "What was before is in the window, and in an export." }));
    view.approvals.forEach(question);
    updateState();
  }
  await follow(session, signal);
}

async function listSessions() {
  const { sessions } = await (await ask("/v1/sessions")).json();
  at("session").replaceChildren(...sessions.map((one) => {
    const option = element("option", { text: one.title || `New session in ${one.workspace}` });
    option.value = one.id;
    return option;
  }), new Option("Start a session…", ""));
  return sessions.map((one) => one.id);
}

// -- what the user does --

at("session").addEventListener("change", () => void choose(at("session").value));
at("stop").addEventListener("click", () => tryTo(() => ask(ofSession("/ops"), { method: "POST", body: { type: "interrupt" } })));
at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("prompt").value.trim();
  if (!text) return;
  void tryTo(async () => {
    if (!shown.session) {
      const { id } = await (await ask("/v1/sessions", { method: "POST", body: {} })).json();
      await listSessions();
      at("session").value = id;
      void choose(id);
    }
    await ask(ofSession("/prompts"), { method: "POST", body: { text } });
    at("prompt").value = "";
  });
});
for (const [button, panel] of [["show-conversation", "conversation"], ["show-changes", "changes"]]) {
  at(button).addEventListener("click", () => {
    for (const [other, its] of [["show-conversation", "conversation"], ["show-changes", "changes"]]) {
      at(other).setAttribute("aria-pressed", String(other === button));
      at(its).hidden = its !== panel;
    }
    if (panel === "changes") void showChanges();
  });
}
window.addEventListener("hashchange", () => { token(); void begin(); });

async function begin() {
  const ids = await tryTo(listSessions);
  if (!ids) return;
  const known = new URLSearchParams(location.search).get("session");
  const first = ids.includes(known) ? known : ids[0] ?? "";
  at("session").value = first;
  await choose(first);
}

void begin();
