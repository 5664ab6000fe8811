// The webview: lays out the lines that came and sends back what the developer does. It decides nothing.
import "@vscode-elements/elements/dist/vscode-button/index.js";
import "@vscode-elements/elements/dist/vscode-textarea/index.js";
import { html, LitElement, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { Action, Location, When } from "../../../../protocol/protocol.gen";
import type { Line } from "../lines";
import type { BoxSetting, Chip, Drawing, Fix, FromView, Notice, ToView } from "../messages";
import "./main.css";

/** What the box holds; it is kept while the panel is hidden. */
interface Draft {
  text: string;
  start: boolean;
  action?: Action;
  chips: Chip[];
}

const host = acquireVsCodeApi<Draft>();
const send = (m: FromView) => host.postMessage(m);
const nothingYet: Drawing = { lines: [], session: true, paused: false, spoken: "", notices: [] };
const freshDraft = (): Draft => ({ text: "", start: false, chips: [] });

class Panel extends LitElement {
  static override properties = { drawing: { state: true }, draft: { state: true }, sending: { state: true } };
  declare drawing: Drawing;
  declare draft: Draft;
  declare sending: boolean;

  constructor() {
    super();
    this.drawing = nothingYet;
    // Words that were meant for a new session stay, but only the developer begins one.
    this.draft = { ...(host.getState() ?? freshDraft()), start: false };
    this.sending = false;
    window.addEventListener("message", (e: MessageEvent<ToView>) => this.heard(e.data));
  }

  override createRenderRoot() {
    return this; // light DOM: main.css applies
  }

  override firstUpdated() {
    send({ type: "ready" });
  }

  private heard(m: ToView): void {
    if (m.type === "draw") this.drawing = m.drawing;
    if (m.type === "box") this.setBox(m.set);
    if (m.type !== "sent") return;
    this.sending = false;
    if (m.ok) this.keep(freshDraft());
  }

  private keep(draft: Draft): void {
    this.draft = draft;
    host.setState(draft);
  }

  private setBox({ start, action, chip }: BoxSetting): void {
    const others = this.draft.chips.filter((c) => c.label !== chip?.label);
    const chips = chip ? [...others, chip] : this.draft.chips;
    this.keep({
      ...this.draft,
      chips,
      start: start ?? this.draft.start,
      action: start ? undefined : (action ?? this.draft.action),
    });
    void this.updateComplete.then(() => this.box?.focus());
  }

  private get box() {
    return this.querySelector("vscode-textarea");
  }

  /** An action that asks for words gets them from the box. */
  private act(action: Action): void {
    if (action.ask) this.setBox({ start: false, action });
    else send({ type: "act", action });
  }

  private say(when: When): void {
    const { start, action, chips } = this.draft;
    const text = (this.box?.value ?? "").trim();
    if (!text || this.sending) return;
    this.sending = true;
    send({ type: "say", text, start, action, places: chips.map((c) => c.place), when });
  }

  private key = (e: KeyboardEvent) => {
    if (e.key === "Escape") return this.escape();
    if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
    e.preventDefault();
    this.say(e.altKey ? "stepEnd" : "now");
  };

  /** Escape takes back what the box was set to, and then gives the keys back to the editor. */
  private escape(): void {
    const { start, action, chips, text } = this.draft;
    if (start || action || chips.length > 0) this.keep({ ...freshDraft(), text });
    else send({ type: "run", fix: { title: "", command: "workbench.action.focusActiveEditorGroup" } });
  }

  override render() {
    const { drawing } = this;
    return html`
      <p class="unseen" role="status" aria-live="polite">${drawing.spoken}</p>
      <main class=${drawing.paused ? "paused" : ""}>
        ${drawing.notices.map((n, i) => this.notice(n, i))}
        ${blocks(drawing.lines).map((b) => this.block(b))}
      </main>
      ${this.form()}`;
  }

  private notice(n: Notice, index: number) {
    const [first, ...rest] = n.lines;
    return html`<div class="notice ${n.error ? "error" : ""}" role=${n.error ? "alert" : "status"}>
      <p>${first}</p>
      ${rest.map((t) => html`<p class="detail">${t}</p>`)}
      <div class="buttons">
        ${n.fixes.map((f) => this.fix(f))}
        ${n.passing ? button("Dismiss", () => send({ type: "dismiss", index }), "secondary") : nothing}
      </div>
    </div>`;
  }

  private fix(fix: Fix) {
    return button(fix.title, () => send({ type: "run", fix }), "secondary");
  }

  private block({ name, titles, items }: Block) {
    const dim = titles[0]?.dim || items[0]?.line.dim;
    return html`<section class="${name} ${dim ? "dim" : ""}" aria-label=${titles[0]?.text ?? name}>
      ${titles.map((l, i) => (name === "head" ? this.headLine(l, i) : this.heading(l)))}
      ${items.length === 0 ? nothing : html`<ul>${repeat(items, keyOf, (item) => this.item(item))}</ul>`}
    </section>`;
  }

  private headLine(l: Line, index: number) {
    if (index > 0) return html`<h1>${l.text}</h1>`;
    const words = l.text.split(" · ");
    const autonomy = words.length > 1 ? words.pop() : undefined;
    const open = l.actions.filter((a) => !a.ask && a.kind !== "danger").slice(0, 1); // the menu has the others
    const set = { title: "Set the autonomy", command: "tandem.autonomy" };
    return html`<div class="line">
      <span class="words">${mark(l)}<b>${words.join(" · ")}</b></span>
      <span class="buttons">
        ${autonomy ? html`<button title="Autonomy: ${autonomy}" aria-label="Autonomy: ${autonomy}" @click=${() => send({ type: "run", fix: set })}>${autonomy} ▾</button>` : nothing}
        ${open.map((a) => this.button(a))} ${this.menu(l.actions, "this session")}
      </span>
    </div>`;
  }

  private heading(l: Line) {
    const own = l.id === "plan" ? ["Edit", "History"] : [];
    const commands: Record<string, string> = { Edit: "tandem.editPlan", History: "tandem.history" };
    return html`<div class="line title">
      <h2>${mark(l)}${l.text}${l.note ? html` <span class="note">${l.note}</span>` : nothing}</h2>
      ${own.length === 0 ? nothing : html`<span class="buttons">${own.map((t) => html`<button @click=${() => send({ type: "run", fix: { title: t, command: commands[t] ?? "" } })}>${t}</button>`)}</span>`}
    </div>`;
  }

  private item({ line, details }: Item) {
    const drawn = line.shown || line.block === "card";
    return html`<li class="indent${line.indent}">
      <div class="line">
        ${line.text || line.mark ? html`<span class="words">${mark(line)}${place(line.text, line.place)}</span>` : nothing}
        ${line.note ? html`<span class="note">${line.note}</span>` : nothing}
        ${drawn ? nothing : this.quiet(line)}
      </div>
      ${details.map((d) => html`<p class="detail">${place(d.text, d.place)}${d.note ? html` <span class="note">${d.note}</span>` : nothing}</p>`)}
      ${drawn && line.actions.length > 0 ? html`<div class="buttons">${line.actions.map((a) => this.button(a))}</div>` : nothing}
    </li>`;
  }

  /** One action is a button that shows under the pointer; several are a menu. */
  private quiet(l: Line) {
    const [only, ...more] = l.actions;
    if (!only || more.length > 0) return this.menu(l.actions, l.text);
    return html`<button class="quiet" @click=${() => this.act(only)}>${only.title}</button>`;
  }

  private menu(actions: Action[], of: string) {
    if (actions.length === 0) return nothing;
    const label = `What can be done with ${of}`;
    return html`<button class="quiet" title=${label} aria-label=${label} aria-haspopup="menu" @click=${() => send({ type: "menu", actions })}>⋯</button>`;
  }

  private button(a: Action) {
    return button(a.title, () => this.act(a), a.kind ?? "secondary");
  }

  private form() {
    const { text, action, chips } = this.draft;
    const start = this.draft.start || !this.drawing.session;
    const prompt = start ? "What shall be done?" : (action?.ask?.prompt ?? "Steer…");
    const hint =
      start || (action && action.method !== "tandem/steer")
        ? "Enter"
        : "Enter: now, Alt+Enter: at the end of this step";
    const less = (i: number) => this.keep({ ...this.draft, chips: chips.filter((_, at) => at !== i) });
    const whole = start ? "new session" : (action?.title ?? "whole task").replace(/…$/, "");
    const set = (this.draft.start && this.drawing.session) || action !== undefined;
    return html`<form @submit=${(e: Event) => e.preventDefault()}>
      <div class="chips">
        ${chips.length > 0 && !set ? nothing : chip(whole, set ? () => this.keep({ ...this.draft, start: false, action: undefined }) : undefined)}
        ${chips.map((c, i) => chip(c.label, () => less(i)))}
        <button type="button" title="Adds what is selected in the editor" @click=${() => send({ type: "run", fix: { title: "", command: "tandem.steer" } })}>+ selection</button>
      </div>
      <vscode-textarea rows="2" resize="vertical" label=${prompt} placeholder="${prompt} (${hint})" .value=${text}
        ?disabled=${this.sending} @keydown=${this.key} @input=${() => this.keep({ ...this.draft, text: this.box?.value ?? "" })}></vscode-textarea>
    </form>`;
  }
}
customElements.define("tandem-panel", Panel);

/** A line with the lines that stand below it. */
interface Item {
  line: Line;
  details: Line[];
  index: number;
}

interface Block {
  name: string;
  titles: Line[];
  items: Item[];
}

const keyOf = (item: Item) => item.line.id ?? `#${item.index}`;

/** blocks puts lines that belong together together: an empty line ends a block. */
function blocks(all: Line[]): Block[] {
  const out: Block[] = [];
  let block: Block | undefined;
  all.forEach((line, index) => {
    if (!line.text && line.actions.length === 0) {
      block = undefined;
      return;
    }
    if (!block) {
      block = { name: line.block, titles: [], items: [] };
      out.push(block);
    }
    const last = block.items.at(-1);
    if (line.indent === 0 && line.block !== "empty") block.titles.push(line);
    else if (line.indent > 2 && last && line.actions.length === 0) last.details.push(line);
    else block.items.push({ line, details: [], index });
  });
  return out;
}

/** The sign of a pause is drawn: many fonts lack it, and others make it a coloured picture. */
function mark(l: Line) {
  if (!l.mark) return nothing;
  const pause = l.mark === "⏸";
  const kind = pause ? "pause" : `m${l.mark.codePointAt(0)?.toString(16)}`;
  return html`<span class="mark ${kind}" role="img" title=${l.means ?? ""} aria-label=${l.means ?? ""}>${pause ? "" : l.mark}</span>`;
}

function place(text: string, at: Location | undefined) {
  if (!at) return text;
  const open = (e: Event) => {
    e.preventDefault();
    send({ type: "open", place: at });
  };
  return html`<a href="#" @click=${open}>${text}</a>`;
}

function button(title: string, press: () => void, kind: string): TemplateResult {
  return html`<vscode-button class=${kind} ?secondary=${kind !== "primary"} @click=${press}>${title}</vscode-button>`;
}

function chip(label: string, remove?: () => void) {
  const cross = html`<button type="button" aria-label="Remove ${label}" title="Remove" @click=${remove}>×</button>`;
  return html`<span class="chip">${label}${remove ? cross : nothing}</span>`;
}
