// The calls to the service. Whatever goes wrong is a Problem, with a sentence for people.

import { Problem, problemOf } from "./problems.js";

const TRIES = 4;
const LONGEST_WAIT_S = 15;
const LOST_TRIES = 60; // how often a job that cannot be heard of is asked for, about a second apart
const BROKE_OFF = "The connection ended before the answer had come. Try again.";
const NOT_OURS = "Something else than this service has answered, such as the sign-in page of a network. Try again.";

/** The key in `text`: a character that a paste brings with it, and no header may have, would fail every call. */
const sendable = (text) => text.replace(/[^\x21-\x7e]/g, "");

let key = null;
try {
  key = sendable(sessionStorage.getItem("storyqa.key") ?? "") || null;
} catch {
  // Storage is switched off: the key is asked for once per visit.
}

let askForKey = async () => null;

/** `ask(why)` resolves to the key that the user typed, or to null. */
export function whenAKeyIsWanted(ask) {
  askForKey = ask;
}

function useKey(text) {
  key = sendable(text);
  try {
    sessionStorage.setItem("storyqa.key", key);
  } catch {
    // As above.
  }
}

const address = (path) => new URL(path, document.baseURI);
const authorization = () => (key === null ? {} : { Authorization: `Bearer ${key}` });

/** The problem in the answer to a call with the key `used`; no problem document where a proxy has answered. */
function problemIn(status, text, used) {
  let content = null;
  try {
    content = JSON.parse(text);
  } catch {
    // Then the status has to do.
  }
  return problemOf(status, content, used !== null);
}

const pause = (seconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

/**
 * The response to one call. A busy service (429, 503) is asked again after as long as it says, and
 * `onWait(seconds)` is told; one that wants a key is asked again with the one that the user gives.
 */
async function send(path, { method = "GET", json, signal, accept = "application/json", onWait } = {}) {
  for (let tried = 1; ; tried += 1) {
    const headers = { Accept: accept, ...authorization() };
    const used = key;
    if (json !== undefined) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(address(path), { method, headers, body: JSON.stringify(json), signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, "The service cannot be reached. Is it running, and are you online?");
    }
    if (response.ok) return response;
    const problem = problemIn(response.status, await response.text().catch(() => ""), used);
    if (problem.status === 401 && used !== key) {
      continue; // another call was given one meanwhile
    } else if (problem.status === 401) {
      const given = await askForKey(problem.message);
      if (given === null) throw problem;
      useKey(given);
    } else if ((problem.status === 429 || problem.status === 503) && tried < TRIES) {
      const seconds = Math.min(Number(response.headers.get("Retry-After")) || 2, LONGEST_WAIT_S);
      onWait?.(seconds, problem.message);
      await pause(seconds, signal);
    } else {
      throw problem;
    }
  }
}

/** What the service says at `path`. */
async function get(path, options) {
  const response = await send(path, options);
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, error instanceof SyntaxError ? NOT_OURS : BROKE_OFF);
  }
}

const path = (id) => `books/${encodeURIComponent(id)}`;

export const everyBook = () => get("books");
/** At most `limit` books whose ids come after `after`, in the order of their ids. */
export const books = (after, limit) => get(`books?after=${encodeURIComponent(after)}&limit=${limit}`);
export const shelves = () => get("shelves");
export const shelf = (name) => get(`shelves/${encodeURIComponent(name)}`);
export const readers = () => get("readers");
export const book = (id) => get(path(id));

/** The picture on a book's cover, a Blob; of books that have one (`has_cover`). */
export const cover = async (id) => (await send(`${path(id)}/cover`, { accept: "image/*" })).blob();

/** Takes a book off the shelf. */
export const remove = (id) => send(path(id), { method: "DELETE" });

/**
 * The answer to a question; `onFound(found)` hears of the passages before they are read, `onWords(text)` of
 * what a language model writes, some words at a time.
 */
export async function answer(json, { onFound, onWords, ...options }) {
  for await (const { event, data } of events("answer", { method: "POST", json, ...options })) {
    if (event === "answer") return data;
    if (event === "problem") throw problemOf(data.status, data, key !== null);
    if (event === "found") onFound(data);
    if (event === "words") onWords(data.text);
  }
  throw new Problem(0, BROKE_OFF);
}

/** The text of the book from `start` to `end`, code points; "" where they bound nothing. */
export async function text(id, start, end) {
  if (start >= end) return "";
  return (await get(`${path(id)}/text?start=${start}&end=${end}`)).text;
}

/** What is told of a book without a question, by its text before the character `limit`. */
export const characters = (id, limit) => get(`${path(id)}/characters?before=${limit}`);
export const who = (id, name, limit) => get(`${path(id)}/who?before=${limit}&name=${encodeURIComponent(name)}`);
export const facts = (id, limit) => get(`${path(id)}/facts?before=${limit}`);
export const recap = (id, limit) => get(`${path(id)}/recap?before=${limit}`);

/** The sample story: its `book_id`, its `questions`, and `file()`, which resolves to the file to add. */
export async function sample() {
  const about = await get("page/sample.json");
  const file = async () => new File([await (await send("page/sample.txt")).blob()], `${about.book_id}.txt`);
  return { ...about, file };
}

/** Sends a file as a new book and resolves to its job; `onSent(share)` hears how much has left. */
export async function upload(file, onSent) {
  for (;;) {
    const used = key;
    const request = await sent(file, onSent);
    if (request.status === 202) return JSON.parse(request.responseText);
    const problem = problemIn(request.status, request.responseText, used);
    const given = problem.status === 401 ? await askForKey(problem.message) : null;
    if (given === null) throw problem;
    useKey(given);
  }
}

// XMLHttpRequest, for fetch does not tell how much of a body has been sent.
function sent(file, onSent) {
  const form = new FormData();
  form.append("file", file, file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address("books"));
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) onSent(event.loaded / event.total);
    });
    request.addEventListener("load", () => resolve(request));
    request.addEventListener("error", () =>
      reject(new Problem(0, "The connection ended before the file had been sent; try again.")),
    );
    request.send(form);
  });
}

const ended = (job) => job.status === "done" || job.status === "failed";

// Whether a job may go on though `error` came of asking for it; who has no key for it will not hear of it.
const mayGoOn = (error) => !(error instanceof Problem) || (error.passes && error.status !== 401);

/** Resolves to the job when it has ended; `onChange(job)` hears of every change until then. */
export async function follow(job, onChange) {
  const at = `jobs/${encodeURIComponent(job.id)}`;
  let last = job;
  let lost = 0; // tries since the job was heard of
  const hear = (heard) => {
    lost = 0;
    last = heard;
    onChange(last);
  };
  while (!ended(last)) {
    try {
      for await (const { data } of events(`${at}/events`)) hear(data);
    } catch (error) {
      if (!mayGoOn(error)) throw error;
      // The stream broke off; the job itself goes on.
    }
    if (ended(last)) break;
    await pause(1);
    try {
      hear(await get(at));
    } catch (error) {
      lost += 1;
      if (!mayGoOn(error) || lost > LOST_TRIES) throw error;
    }
  }
  return last;
}

// fetch, for EventSource can neither show a key nor send a question.
async function* events(at, options) {
  const response = await send(at, { ...options, accept: "text/event-stream" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const read = () =>
    reader.read().catch((error) => {
      throw error.name === "AbortError" ? error : new Problem(0, BROKE_OFF);
    });
  let waiting = "";
  try {
    for (;;) {
      const { done, value } = await read();
      if (done) return;
      const blocks = (waiting + value).replaceAll("\r\n", "\n").split("\n\n");
      waiting = blocks.pop();
      for (const block of blocks) {
        const data = fields(block, "data");
        if (data !== "") yield { event: fields(block, "event"), data: JSON.parse(data) };
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // where it broke off there is nothing to cancel
  }
}

const fields = (block, name) =>
  block
    .split("\n")
    .filter((line) => line.startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).trimStart())
    .join("\n");
