// A client that lost its connection shows what one shows that never did.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Session } from "../../../protocol/protocol.gen";
import { answered } from "./answers";
import { lines, text } from "./lines";
import { again, begin, fold, type Note, type State } from "./wire";

const folder = join(process.cwd(), "../../testdata/wire");

/** A stream: what the attach was answered, and what was told then. */
function read(file: string): { session: Session; notes: Note[]; end: number } | undefined {
  const raw = readFileSync(join(folder, file), "utf8").split("\n").filter(Boolean);
  const all = raw.map((l) => JSON.parse(l));
  if (all.length === 0) return undefined;
  const session = all[0].message.result.session;
  return { session, notes: all.slice(1).map((r) => r.message), end: Date.parse(all.at(-1).at) };
}

/** The session as an attach at the end would be answered. */
function answer({ session, operations, decisions, watches, seq }: State): Session {
  const lists = {
    operations: [...operations.values()],
    decisions: [...decisions.values()],
    watches: [...watches.values()],
  };
  return structuredClone({ ...session, ...lists, seq });
}

/** What is shown of it, without words that are streamed once and what happened meanwhile. */
function shown(state: State, end: number): string {
  state.seen = undefined;
  return text(lines(state, end).filter((l) => l.block !== "said"));
}

for (const file of readdirSync(folder).filter((name) => name.endsWith(".jsonl"))) {
  const stream = read(file);
  if (!stream) continue;
  test(`a connection that is lost anywhere in ${file}`, () => {
    const { session, notes, end } = stream;
    const whole = notes.reduce(fold, begin(structuredClone(session)));
    for (let cut = 0; cut <= notes.length; cut++) {
      const copies = structuredClone(notes);
      const state = copies.slice(0, cut).reduce(fold, begin(structuredClone(session)));
      again(state, answer(whole));
      const rest = copies.slice(cut).filter((n) => n.method !== "tandem/text");
      assert.equal(shown(rest.reduce(fold, state), end), shown(whole, end), `cut behind ${cut} notes`);
    }
  });
}

test("what happened meanwhile is what was told between the last event seen and the answer", () => {
  const stream = read("pair-done.jsonl");
  assert(stream);
  const whole = stream.notes.reduce(fold, begin(structuredClone(stream.session)));
  const seen = begin(structuredClone(stream.session));
  const half = Math.floor(stream.notes.length / 2);
  stream.notes.slice(0, half).reduce(fold, seen);
  assert.equal(seen.away.changed.size, 0);
  again(seen, answer(whole));
  stream.notes.slice(half).reduce(fold, seen);
  assert(seen.away.done.size > 0 && seen.away.changed.size > 0);
});

test("answers that change nothing else are said in words", () => {
  assert.deepEqual(answered({ unseen: [] }, "Steer"), []);
  assert.deepEqual(answered(null, "Pause"), []);
  assert.deepEqual(answered({ answer: "It is\n\nin auth." }, "Why?"), ["Why?", "It is", "in auth."]);
  const unseen = [{ operationId: "o1", files: ["file:///w/a.go"] }];
  assert.match(answered({ unseen }, "Steer")[0] ?? "", /not seen: \/w\/a\.go$/);
  const reverted = { files: [{ uri: "file:///w/a.go", status: "restored" }], conflicts: ["b.go was changed since"] };
  assert.deepEqual(answered(reverted, "Revert"), ["Taken back:", "/w/a.go — restored", "! b.go was changed since"]);
});
