// The history of a session as a document: one line an event, and the plan's revisions.
import * as vscode from "vscode";
import type { HistoryEvent, Plan } from "../../../protocol/protocol.gen";
import type { Daemon } from "./daemon";

const scheme = "tandem-history";
const pages = new Map<string, string>();

export function provideHistory(): vscode.Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(scheme, {
    provideTextDocumentContent: ({ path }) => pages.get(path) ?? "This page was made by an earlier window.\n",
  });
}

/** history reads a session's events and shows them beside the editor. */
export async function history(daemon: Daemon, sessionId: string): Promise<void> {
  const events = await read(daemon, sessionId);
  const { plan } = await daemon.request("tandem/plan", { sessionId });
  const plans: Plan[] = [];
  for (let revision = plan?.revision ?? 0; revision > 0; revision--) {
    const before = await daemon.request("tandem/plan", { sessionId, revision });
    if (before.plan) plans.push(before.plan);
  }
  const path = `/${sessionId} at ${events.at(-1)?.seq ?? 0}`;
  const text = ["PLAN", ...plans.flatMap(planLines), "", "EVENTS", ...events.map(eventLine)];
  pages.set(path, `${text.join("\n")}\n`);
  await vscode.window.showTextDocument(vscode.Uri.from({ scheme, path }), { preview: true });
}

async function read(daemon: Daemon, sessionId: string): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for (let more = true; more; ) {
    const page = await daemon.request("tandem/history", { sessionId, since: events.at(-1)?.seq ?? 0 });
    events.push(...page.events);
    more = page.more && page.events.length > 0;
  }
  return events;
}

function planLines({ revision, cause, steps }: Plan): string[] {
  return [`  revision ${revision} (${cause.kind})`, ...steps.map((s) => `    ${s.status.padEnd(8)} ${s.title}`)];
}

/** eventLine is an event with the first words that it bears. */
function eventLine({ seq, at, kind, data }: HistoryEvent): string {
  const time = new Date(at).toLocaleTimeString();
  return `  ${String(seq).padStart(5)}  ${time}  ${kind.padEnd(12)} ${words(data)}`.trimEnd();
}

function words(data: unknown): string {
  if (typeof data === "string") return data.replace(/\s+/g, " ").slice(0, 200);
  if (typeof data !== "object" || data === null) return "";
  const told = data as Record<string, unknown>;
  for (const name of ["text", "intent", "summary", "reason", "title", "status", "why"]) {
    if (typeof told[name] === "string" && told[name]) return words(told[name]);
  }
  return (
    Object.values(told)
      .filter((v) => typeof v === "object")
      .map(words)
      .find(Boolean) ?? ""
  );
}
