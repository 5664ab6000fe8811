// Places in documents: opening them, and the one that the developer has selected.
import * as vscode from "vscode";
import type { Location } from "../../../protocol/protocol.gen";
import type { Chip } from "./messages";

/** show opens a place, in the editor that is there. */
export async function show({ uri, range }: Location): Promise<void> {
  const at = vscode.Uri.parse(uri);
  try {
    const folder = (await vscode.workspace.fs.stat(at)).type & vscode.FileType.Directory;
    if (folder) return void (await vscode.commands.executeCommand("revealInExplorer", at));
  } catch {
    const name = vscode.workspace.asRelativePath(at);
    return void vscode.window.setStatusBarMessage(`Tandem: ${name} is not there now.`, 5000);
  }
  const selection = range && toRange(range);
  await vscode.window.showTextDocument(at, { selection, preview: true });
}

export function toRange({ start, end }: NonNullable<Location["range"]>): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

/** selected is what is selected in the editor in front; a cursor alone selects nothing. */
export function selected(): Chip | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.selection.isEmpty || editor.document.uri.scheme !== "file") return undefined;
  const { start, end } = editor.selection;
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  const name = editor.document.uri.path.split("/").at(-1);
  const lines = last === start.line + 1 ? `${last}` : `${start.line + 1}–${last}`;
  const at = (p: vscode.Position) => ({ line: p.line, character: p.character });
  const place = { uri: editor.document.uri.toString(), range: { start: at(start), end: at(end) } };
  return { label: `${name} ${lines}`, place };
}
