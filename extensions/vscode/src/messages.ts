// What the extension and its webview say to each other.
import type { Action, Location, When } from "../../../protocol/protocol.gen";
import type { Line } from "./lines";

/** A way out of a problem: a command of the editor. */
export interface Fix {
  title: string;
  command: string;
  args?: unknown[];
}

/** Something between editor and daemon that the developer should know. */
export interface Notice {
  /** The first line says what happened; the others are details. */
  lines: string[];
  fixes: Fix[];
  /** Whether work cannot go on as it is. */
  error: boolean;
  /** Whether the developer can dismiss it; the others go when what they say is no longer so. */
  passing?: boolean;
}

/** Everything that the webview draws. */
export interface Drawing {
  lines: Line[];
  /** Whether there is a session to steer. */
  session: boolean;
  paused: boolean;
  /** Read out when it changes: mode, turn and intent. */
  spoken: string;
  notices: Notice[];
}

/** A place that goes with what the developer types. */
export interface Chip {
  label: string;
  place: Location;
}

/** What the box shall be set to. Absent fields leave what is there. */
export interface BoxSetting {
  /** Whether the words start a session or go to the one that is there. */
  start?: boolean;
  /** What the words answer; absent is a steer about the whole task. */
  action?: Action;
  chip?: Chip;
}

export type ToView =
  | { type: "draw"; drawing: Drawing }
  | { type: "box"; set: BoxSetting }
  | { type: "sent"; ok: boolean };

export type FromView =
  | { type: "ready" }
  | { type: "act"; action: Action }
  | { type: "menu"; actions: Action[] }
  | { type: "say"; text: string; start: boolean; action?: Action; places: Location[]; when: When }
  | { type: "open"; place: Location }
  | { type: "run"; fix: Fix }
  | { type: "dismiss"; index: number };
