// The extension host calls run(), as it does for every suite of an extension. What came out is written to the file
// that TANDEM_TEST_RESULTS names, because the page that started the suite cannot see the host's output.
import { writeFileSync } from "node:fs";
import Mocha from "mocha";

interface Result {
  name: string;
  state: "passed" | "failed" | "skipped";
  ms?: number;
  error?: string;
}

const words = (fault: unknown) => (fault instanceof Error ? (fault.stack ?? fault.message) : String(fault));

export async function run(): Promise<void> {
  const file = process.env.TANDEM_TEST_RESULTS;
  if (!file) throw new Error("TANDEM_TEST_RESULTS does not name a file for the results");
  const results: Result[] = [];
  try {
    await play(results);
  } catch (fault) {
    results.push({ name: "the suite is played to its end", state: "failed", error: words(fault) });
  }
  writeFileSync(file, JSON.stringify(results));
  if (results.some((result) => result.state === "failed")) throw new Error("tests failed");
}

function play(results: Result[]): Promise<number> {
  const mocha = new Mocha({ ui: "bdd", timeout: 45_000, reporter: "min" });
  mocha.suite.emit("pre-require", globalThis, "", mocha);
  require("./suite"); // after pre-require: describe and it are there now
  return new Promise((done) => {
    mocha
      .run(done)
      .on("pass", (test) => results.push({ name: test.fullTitle(), state: "passed", ms: test.duration }))
      .on("pending", (test) => results.push({ name: test.fullTitle(), state: "skipped" }))
      .on("fail", (test, fault) => results.push({ name: test.fullTitle(), state: "failed", error: words(fault) }));
  });
}
