import * as vscode from "vscode";
import type {
  ApplyWorkspaceEditParams,
  ApplyWorkspaceEditRequest,
  ApplyWorkspaceEditResult,
} from "vscode-languageclient/node";

/** The documents open here that an edit changes. */
function touched(params: ApplyWorkspaceEditParams): vscode.TextDocument[] {
  const uris = new Set<string>(Object.keys(params.edit.changes ?? {}));
  for (const change of params.edit.documentChanges ?? []) {
    if ("textDocument" in change) uris.add(change.textDocument.uri);
  }
  const all = [...uris].map((uri) => vscode.Uri.parse(uri).toString());
  return vscode.workspace.textDocuments.filter((doc) => all.includes(doc.uri.toString()));
}

/**
 * Applies an edit of the agent's. What was saved before it is saved after it, and before the answer: the commands
 * of the agent read the file, and nobody is asked about a newer one on disk.
 */
export async function applyEdit(
  params: ApplyWorkspaceEditParams,
  next: ApplyWorkspaceEditRequest.HandlerSignature,
): Promise<ApplyWorkspaceEditResult> {
  const saved = touched(params).filter((doc) => !doc.isDirty && !doc.isUntitled);
  const source = new vscode.CancellationTokenSource();
  const result = await next(params, source.token);
  source.dispose();
  if ("applied" in result && result.applied) await Promise.all(saved.map((doc) => doc.save()));
  return result as ApplyWorkspaceEditResult;
}
