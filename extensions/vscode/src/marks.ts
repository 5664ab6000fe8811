// The quiet marks at lines that the agent changed: they go when the developer has looked at them. Who changed a line
// and why is said by the hover, which is the daemon's.
import * as vscode from "vscode";
import type { FilesChangedParams, Hunk } from "../../../protocol/protocol.gen";
import type { Desk } from "./desk";

interface Mark {
  start: number;
  end: number;
}

export class Marks implements vscode.Disposable {
  private readonly marks = new Map<string, Mark[]>();
  private readonly type = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderStyle: "solid",
    borderWidth: "0 0 0 2px",
    borderColor: new vscode.ThemeColor("tandem.changedLine"),
    overviewRulerColor: new vscode.ThemeColor("tandem.changedLine"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private front = vscode.window.activeTextEditor;
  private readonly listeners: vscode.Disposable[];

  constructor(desk: Desk) {
    this.listeners = [
      this.type,
      desk.onFiles((p) => this.changed(p)),
      vscode.window.onDidChangeActiveTextEditor((editor) => this.looked(editor)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.draw()),
      vscode.workspace.onDidChangeTextDocument((e) => this.edited(e)),
    ];
  }

  dispose(): void {
    for (const l of this.listeners) l.dispose();
  }

  private changed({ files }: FilesChangedParams): void {
    for (const { uri, hunks } of files) {
      const key = vscode.Uri.parse(uri).toString();
      const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === key);
      const known = this.marks.get(key) ?? [];
      // Edits of a document with unsaved text were told as edits, and its marks have moved with them.
      const moved = document?.isDirty ? known : known.map((m) => hunks.reduceRight(shifted, m));
      const added = hunks.map((h) => ({ start: h.newStart, end: h.newStart + Math.max(1, h.newLines) }));
      this.marks.set(key, [...moved, ...added]);
    }
    this.draw();
  }

  /** What the developer types moves the marks below it. */
  private edited({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const known = this.marks.get(document.uri.toString());
    if (!known || !document.isDirty) return;
    const hunks = contentChanges.map(({ range, text }) => ({
      oldStart: range.start.line,
      oldLines: range.end.line - range.start.line,
      newStart: range.start.line,
      newLines: text.split("\n").length - 1,
    }));
    this.marks.set(
      document.uri.toString(),
      known.map((m) => hunks.reduce(shifted, m)),
    );
  }

  /** Whoever leaves an editor has looked at it. */
  private looked(editor: vscode.TextEditor | undefined): void {
    if (!editor) return; // the panel has the focus
    const left = this.front?.document.uri.toString();
    if (left && left !== editor.document.uri.toString()) this.marks.delete(left);
    this.front = editor;
    this.draw();
  }

  private draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const marks = this.marks.get(editor.document.uri.toString()) ?? [];
      const ranges = marks.map(({ start, end }) => new vscode.Range(start, 0, Math.max(start, end - 1), 0));
      editor.setDecorations(this.type, ranges);
    }
  }
}

/** shifted is a mark after a change of lines above it. */
function shifted(m: Mark, h: Hunk): Mark {
  if (h.oldStart + h.oldLines > m.start) return m;
  const by = h.newLines - h.oldLines;
  return { ...m, start: m.start + by, end: m.end + by };
}
