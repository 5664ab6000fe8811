// What a request was answered, as lines for the developer. Most answers need none: what changed is told
// by notifications.
import type { CheckIn, RevertResult, SteerResult } from "../../../protocol/protocol.gen";
import { path } from "./lines";
import type { State } from "./wire";

type Answer = Partial<SteerResult & RevertResult> & { drift?: string[]; answer?: string; checkIn?: CheckIn };

/** answered is the lines of an answer; the first is its title. */
export function answered(result: unknown, title: string, state?: State): string[] {
  const r = (result ?? {}) as Answer;
  const shown = (uri: string) => path(state?.session.workspace ?? "", { uri });
  if (r.unseen?.length) {
    const files = r.unseen.flatMap((u) => u.files.map(shown));
    const what = files.length > 0 ? files.join(" · ") : "a command";
    return [`Before your steer came, this was changed that you had not seen: ${what}`];
  }
  if (r.drift?.length) return ["Live inputs moved since the pause began:", ...r.drift];
  if (r.answer !== undefined) return [title, ...r.answer.split("\n").filter((t) => t.trim())];
  if (r.checkIn) return checkedIn(r.checkIn);
  if (r.files && r.conflicts) {
    return ["Taken back:", ...r.files.map((f) => `${shown(f.uri)} — ${f.status}`), ...r.conflicts.map((c) => `! ${c}`)];
  }
  return [];
}

function checkedIn({ verdict, brief, nextSteps, questions, contradictions, signals }: CheckIn): string[] {
  const title = verdict === "clarify" ? "Checked in: the agent asks you" : "Checked in: the agent goes on";
  return [
    title,
    ...(brief.goal ? [`Goal: ${brief.goal}`] : []),
    ...brief.done.map((c) => `${c.grounded ? "✓" : "✗ not borne out:"} ${c.text}`),
    ...contradictions.map((c) => `! ${c.claim} — ${c.fact}`),
    ...nextSteps.map((s) => `Next: ${s.text}`),
    ...brief.remaining.map((t) => `Remains: ${t}`),
    ...brief.assumptions.map((t) => `Assumes: ${t}`),
    ...brief.risks.map((t) => `Risk: ${t}`),
    ...questions.map((q) => `? ${q.text}`),
    ...signals.map((t) => `! ${t}`),
  ];
}
