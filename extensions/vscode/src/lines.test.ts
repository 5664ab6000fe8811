// The panel of each recorded stream is the text that stands beside it.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Session } from "../../../protocol/protocol.gen";
import { empty, type Line, lines, text } from "./lines";
import { begin, fold, type Note, type State } from "./wire";

const folder = join(process.cwd(), "../../testdata/wire");

interface Record {
  at: string;
  seen?: number;
  message: { result: { session: Session } } | Note;
}

/** play folds a stream and draws it at the time of its last message. */
function play(file: string): { state?: State; drawn: Line[] } {
  const raw = readFileSync(join(folder, file), "utf8").split("\n").filter(Boolean);
  const [first, ...rest] = raw.map((l) => JSON.parse(l) as Record);
  if (!first) return { drawn: empty };
  assert("result" in first.message);
  const state = begin(first.message.result.session, first.seen);
  for (const r of rest) fold(state, r.message as Note);
  return { state, drawn: lines(state, Date.parse((rest.at(-1) ?? first).at)) };
}

const streams = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));

test("there are streams to draw", () => {
  assert(streams.length > 1);
});

for (const file of streams) {
  const expected = join(folder, file.replace(/jsonl$/, "txt"));
  test(`the panel of ${file}`, () => {
    assert(existsSync(expected), `${expected} is not there: the stream has no expected text`);
    assert.equal(text(play(file).drawn), readFileSync(expected, "utf8"));
  });
}

test("everything but head and card dims in a pause, and nothing else does", () => {
  for (const { state, drawn } of streams.map(play)) {
    const paused = state?.session.mode === "paused";
    for (const l of drawn) assert.equal(l.dim ?? false, paused && l.block !== "head" && l.block !== "card", l.text);
  }
});

test("a line's mark is said in words, and entities' lines have names of their own", () => {
  for (const { drawn } of streams.map(play)) {
    for (const l of drawn) assert(!l.mark || l.means, l.text);
    const ids = drawn.flatMap((l) => l.id ?? []);
    assert.deepEqual(ids, [...new Set(ids)]);
  }
});
