package protocol

import (
	"encoding/json"
	"fmt"
	"strconv"

	lsp "go.lsp.dev/protocol"
)

// Methods of LSP that Tandem answers or sends. They are LSP's own; what they mean stands there.
const (
	LSPInitialize         = "initialize"
	LSPInitialized        = "initialized"
	LSPShutdown           = "shutdown"
	LSPExit               = "exit"
	LSPDidOpen            = "textDocument/didOpen"
	LSPDidChange          = "textDocument/didChange"
	LSPDidSave            = "textDocument/didSave"
	LSPDidClose           = "textDocument/didClose"
	LSPDidChangeFolders   = "workspace/didChangeWorkspaceFolders"
	LSPCodeAction         = "textDocument/codeAction"
	LSPCodeLens           = "textDocument/codeLens"
	LSPHover              = "textDocument/hover"
	LSPExecuteCommand     = "workspace/executeCommand"
	LSPApplyEdit          = "workspace/applyEdit"
	LSPCodeLensRefresh    = "workspace/codeLens/refresh"
	LSPPublishDiagnostics = "textDocument/publishDiagnostics"
	LSPShowMessage        = "window/showMessage"
	LSPProgressCreate     = "window/workDoneProgress/create"
	LSPProgressCancel     = "window/workDoneProgress/cancel"
	LSPProgress           = "$/progress"
	LSPCancelRequest      = "$/cancelRequest"
)

// DocumentURI is a document's or a folder's URI as the client wrote it. Only file URIs name
// something on this machine; others (untitled:, vscode-remote:) are legal and have no path.
type DocumentURI = lsp.DocumentURI

// TextEdit replaces a range of a document.
type TextEdit = lsp.TextEdit

// Command is a command that the client sends back by workspace/executeCommand.
type Command = lsp.Command

// Diagnostic is a tripwire's fact or a conflict at a place; its source is tandem.
type Diagnostic = lsp.Diagnostic

// DiagnosticSeverity says how loud a diagnostic is.
type DiagnosticSeverity = lsp.DiagnosticSeverity

// The severities of diagnostics.
const (
	SeverityError       = lsp.DiagnosticSeverityError
	SeverityWarning     = lsp.DiagnosticSeverityWarning
	SeverityInformation = lsp.DiagnosticSeverityInformation
	SeverityHint        = lsp.DiagnosticSeverityHint
)

// PublishDiagnosticsParams are all diagnostics of one document; an empty list clears them.
type PublishDiagnosticsParams = lsp.PublishDiagnosticsParams

// DidOpenParams tells a document's whole text and version.
type DidOpenParams = lsp.DidOpenTextDocumentParams

// DidCloseParams gives a document back to the disk.
type DidCloseParams = lsp.DidCloseTextDocumentParams

// HoverParams asks what Tandem knows of a position.
type HoverParams = lsp.HoverParams

// Hover is what is known of a position, as text.
type Hover = lsp.Hover

// MarkupContent is text, plain or Markdown as its kind says.
type MarkupContent = lsp.MarkupContent

// The kinds of text.
const (
	PlainText = lsp.PlainText
	Markdown  = lsp.Markdown
)

// CodeLensParams asks for the lenses of a document.
type CodeLensParams = lsp.CodeLensParams

// CodeLens is a line of text above a range, with a command.
type CodeLens = lsp.CodeLens

// CodeActionParams asks for what can be done at a range.
type CodeActionParams = lsp.CodeActionParams

// CodeActionKind groups code actions; Tandem's are all «quickfix» or below «refactor».
type CodeActionKind = lsp.CodeActionKind

// The kinds of Tandem's code actions.
const (
	QuickFix = lsp.QuickFix
	Refactor = lsp.Refactor
)

// InitializeParams is what a client says of itself. Fields that Tandem does not read are left out.
type InitializeParams struct {
	// ProcessID is the client's process; absent when it has none.
	ProcessID        *int64            `json:"processId,omitempty"`
	ClientInfo       *ClientInfo       `json:"clientInfo,omitempty"`
	RootPath         string            `json:"rootPath,omitempty"`
	RootURI          DocumentURI       `json:"rootUri,omitempty"`
	WorkspaceFolders []WorkspaceFolder `json:"workspaceFolders,omitempty"`
	// Options is absent when the client, as a stock one does, sets none for Tandem.
	Options      InitializationOptions `json:"initializationOptions,omitzero"`
	Capabilities ClientCapabilities    `json:"capabilities"`
}

// ClientInfo names the client's program.
type ClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// WorkspaceFolder is one folder that the client has open. Tandem works in the first, unless a
// request names another.
type WorkspaceFolder struct {
	URI  DocumentURI `json:"uri"`
	Name string      `json:"name"`
}

// InitializationOptions are a client's own words to a server; only those for Tandem are read.
type InitializationOptions struct {
	Tandem *TandemOptions `json:"tandem,omitempty"`
}

// UnmarshalJSON reads any value: a client may give its servers options of any shape, and what is
// not an object has nothing for Tandem. An object whose tandem is wrong is an error.
func (o *InitializationOptions) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	type plain InitializationOptions
	return json.Unmarshal(data, (*plain)(o))
}

// TandemOptions are a client's words to Tandem.
type TandemOptions struct {
	// Trusted is true when the developer trusts the workspace. Absent is not true: nothing is run
	// and no configuration of the workspace is read.
	Trusted *bool `json:"trusted,omitempty"`
	// Client is a short name of the client, as in «vscode».
	Client string `json:"client,omitempty"`
}

// ClientCapabilities is what a client can do, as far as Tandem asks.
type ClientCapabilities struct {
	General      GeneralCapabilities      `json:"general,omitzero"`
	Workspace    WorkspaceCapabilities    `json:"workspace,omitzero"`
	TextDocument TextDocumentCapabilities `json:"textDocument,omitzero"`
	Window       WindowCapabilities       `json:"window,omitzero"`
}

// GeneralCapabilities are those of no single feature.
type GeneralCapabilities struct {
	// PositionEncodings are the client's encodings, the best first. Absent means utf-16 alone.
	PositionEncodings []PositionEncoding `json:"positionEncodings,omitempty"`
}

// PositionEncoding is the unit that a position's character counts.
type PositionEncoding string

// The encodings of positions. UTF16 is what holds when nothing is said.
const (
	UTF8  PositionEncoding = "utf-8"
	UTF16 PositionEncoding = "utf-16"
	UTF32 PositionEncoding = "utf-32"
)

// WorkspaceCapabilities say how a client changes its workspace.
type WorkspaceCapabilities struct {
	ApplyEdit     bool                      `json:"applyEdit,omitempty"`
	WorkspaceEdit WorkspaceEditCapabilities `json:"workspaceEdit,omitzero"`
	CodeLens      RefreshCapability         `json:"codeLens,omitzero"`
}

// WorkspaceEditCapabilities say which edits a client can apply.
type WorkspaceEditCapabilities struct {
	// DocumentChanges is true when edits may bear a document's version.
	DocumentChanges bool `json:"documentChanges,omitempty"`
	// ResourceOperations are those of create, rename and delete that a client can apply.
	ResourceOperations []ResourceKind `json:"resourceOperations,omitempty"`
}

// RefreshCapability says whether a client asks again when it is told to.
type RefreshCapability struct {
	RefreshSupport bool `json:"refreshSupport,omitempty"`
}

// TextDocumentCapabilities say what a client draws in a document.
type TextDocumentCapabilities struct {
	CodeAction CodeActionCapabilities `json:"codeAction,omitzero"`
	// Diagnostics is absent when a client draws none.
	Diagnostics *DiagnosticsCapabilities `json:"publishDiagnostics,omitempty"`
}

// DiagnosticsCapabilities say how a client draws diagnostics; Tandem asks only whether it does.
type DiagnosticsCapabilities struct{}

// CodeActionCapabilities say which answers to textDocument/codeAction a client understands.
type CodeActionCapabilities struct {
	// Literals is absent when a client understands bare commands alone.
	Literals *CodeActionLiterals `json:"codeActionLiteralSupport,omitempty"`
}

// CodeActionLiterals are the kinds of code actions that a client knows.
type CodeActionLiterals struct {
	CodeActionKind CodeActionKinds `json:"codeActionKind"`
}

// CodeActionKinds is a set of kinds.
type CodeActionKinds struct {
	ValueSet []CodeActionKind `json:"valueSet"`
}

// WindowCapabilities say what a client shows outside of documents.
type WindowCapabilities struct {
	// WorkDoneProgress is true when the server may start a progress by itself.
	WorkDoneProgress bool `json:"workDoneProgress,omitempty"`
}

// InitializeResult is what Tandem offers.
type InitializeResult struct {
	Capabilities ServerCapabilities `json:"capabilities"`
	ServerInfo   *ServerInfo        `json:"serverInfo,omitempty"`
}

// ServerInfo names the daemon's program.
type ServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// ServerCapabilities is what Tandem does for any LSP client. An absent field is not offered.
type ServerCapabilities struct {
	// PositionEncoding is one of those that the client named, else utf-16.
	PositionEncoding PositionEncoding       `json:"positionEncoding,omitempty"`
	TextDocumentSync *SyncOptions           `json:"textDocumentSync,omitempty"`
	HoverProvider    bool                   `json:"hoverProvider,omitempty"`
	CodeAction       *CodeActionOptions     `json:"codeActionProvider,omitempty"`
	CodeLens         *CodeLensOptions       `json:"codeLensProvider,omitempty"`
	ExecuteCommand   *ExecuteCommandOptions `json:"executeCommandProvider,omitempty"`
	Workspace        *WorkspaceOffer        `json:"workspace,omitempty"`
	Experimental     *Experimental          `json:"experimental,omitempty"`
}

// WorkspaceOffer is what Tandem does with a client's folders.
type WorkspaceOffer struct {
	Folders FoldersOffer `json:"workspaceFolders"`
}

// FoldersOffer says that several folders may be open, and that Tandem wants to hear of changes.
type FoldersOffer struct {
	Supported           bool `json:"supported"`
	ChangeNotifications bool `json:"changeNotifications"`
}

// SyncOptions say which events of documents Tandem wants to hear.
type SyncOptions struct {
	OpenClose bool         `json:"openClose"`
	Change    SyncKind     `json:"change"`
	Save      *SaveOptions `json:"save,omitempty"`
}

// SaveOptions say what a save shall tell.
type SaveOptions struct {
	IncludeText bool `json:"includeText,omitempty"`
}

// SyncKind says how changes of a document are told.
type SyncKind int

// The ways to tell changes.
const (
	SyncNone        SyncKind = 0
	SyncFull        SyncKind = 1
	SyncIncremental SyncKind = 2
)

// CodeActionOptions say which kinds of code actions there are.
type CodeActionOptions struct {
	Kinds []CodeActionKind `json:"codeActionKinds,omitempty"`
}

// CodeLensOptions say that there are lenses. Each comes whole; none is resolved later.
type CodeLensOptions struct {
	ResolveProvider bool `json:"resolveProvider"`
}

// ExecuteCommandOptions name the commands that Tandem runs.
type ExecuteCommandOptions struct {
	Commands List[string] `json:"commands"`
}

// Experimental is what a server offers beside LSP.
type Experimental struct {
	Tandem TandemOffer `json:"tandem"`
}

// TandemOffer says which version of this protocol the daemon speaks.
type TandemOffer struct {
	Version int `json:"version"`
}

// DidChangeParams tells changes of one document, to be applied in order.
type DidChangeParams struct {
	TextDocument VersionedDocument `json:"textDocument"`
	Changes      []ContentChange   `json:"contentChanges"`
}

// VersionedDocument is a document at a version.
type VersionedDocument struct {
	URI     DocumentURI `json:"uri"`
	Version int32       `json:"version"`
}

// ContentChange is one change of a document.
type ContentChange struct {
	// Range is what text replaces; absent: the whole document.
	Range *Range `json:"range,omitempty"`
	Text  string `json:"text"`
}

// DidSaveParams tells that a document's text is on disk.
type DidSaveParams struct {
	TextDocument DocumentID `json:"textDocument"`
	Text         *string    `json:"text,omitempty"`
}

// DidChangeFoldersParams tells which folders the client has opened and closed.
type DidChangeFoldersParams struct {
	Event FoldersEvent `json:"event"`
}

// FoldersEvent is what has changed in the client's folders.
type FoldersEvent struct {
	Added   []WorkspaceFolder `json:"added"`
	Removed []WorkspaceFolder `json:"removed"`
}

// DocumentID names a document.
type DocumentID struct {
	URI DocumentURI `json:"uri"`
}

// CodeAction is something that can be done at a place, by a command.
type CodeAction struct {
	Title       string         `json:"title"`
	Kind        CodeActionKind `json:"kind,omitempty"`
	IsPreferred bool           `json:"isPreferred,omitempty"`
	Command     *Command       `json:"command,omitempty"`
}

// ExecuteCommandParams runs one of the commands that Tandem offers.
type ExecuteCommandParams struct {
	Command string `json:"command"`
	// Arguments are those that the command bore when Tandem gave it out.
	Arguments []json.RawMessage `json:"arguments,omitempty"`
}

// ApplyEditParams asks a client to change open documents, so that its undo holds the change.
type ApplyEditParams struct {
	// Label names the change in the client's undo.
	Label string        `json:"label,omitempty"`
	Edit  WorkspaceEdit `json:"edit"`
}

// ApplyEditResult is the client's word on an edit. It may be true for an edit that was skipped as
// stale: the next didChange is the proof.
type ApplyEditResult struct {
	Applied       bool   `json:"applied"`
	FailureReason string `json:"failureReason,omitempty"`
}

// WorkspaceEdit is a list of changes, applied in order.
type WorkspaceEdit struct {
	// Changes is for clients that cannot take versions.
	Changes         map[DocumentURI][]TextEdit `json:"changes,omitempty"`
	DocumentChanges []DocumentChange           `json:"documentChanges,omitempty"`
}

// DocumentChange is either edits of one document (textDocument and edits) or, when it has a kind,
// one operation on a file (uri to create or delete, oldUri and newUri to rename).
type DocumentChange struct {
	TextDocument *EditedDocument  `json:"textDocument,omitempty"`
	Edits        []TextEdit       `json:"edits,omitempty"`
	Kind         ResourceKind     `json:"kind,omitempty"`
	URI          DocumentURI      `json:"uri,omitempty"`
	OldURI       DocumentURI      `json:"oldUri,omitempty"`
	NewURI       DocumentURI      `json:"newUri,omitempty"`
	Options      *ResourceOptions `json:"options,omitempty"`
}

// EditedDocument is the document that edits are for.
type EditedDocument struct {
	URI DocumentURI `json:"uri"`
	// Version is the one that the edits were made for; null: the document is not open.
	Version *int32 `json:"version"`
}

// ResourceKind is an operation on a file.
type ResourceKind string

// The operations on files.
const (
	CreateResource ResourceKind = "create"
	RenameResource ResourceKind = "rename"
	DeleteResource ResourceKind = "delete"
)

// ResourceOptions say what an operation does with what stands in its way.
type ResourceOptions struct {
	Overwrite         bool `json:"overwrite,omitempty"`
	IgnoreIfExists    bool `json:"ignoreIfExists,omitempty"`
	IgnoreIfNotExists bool `json:"ignoreIfNotExists,omitempty"`
}

// MessageType says how loud a message is.
type MessageType int

// The loudness of messages.
const (
	MessageError   MessageType = 1
	MessageWarning MessageType = 2
	MessageInfo    MessageType = 3
	MessageLog     MessageType = 4
)

// ShowMessageParams shows a sentence to the developer.
type ShowMessageParams struct {
	Type    MessageType `json:"type"`
	Message string      `json:"message"`
}

// ProgressToken names a progress: a string or a whole number. Its zero value is the number 0.
type ProgressToken struct {
	text   string
	number int64
	isText bool
}

// TextToken is a progress token that is a string.
func TextToken(s string) ProgressToken { return ProgressToken{text: s, isText: true} }

// NumberToken is a progress token that is a number.
func NumberToken(n int64) ProgressToken { return ProgressToken{number: n} }

// String is the token's text, or its number in digits.
func (t ProgressToken) String() string {
	if t.isText {
		return t.text
	}
	return strconv.FormatInt(t.number, 10)
}

// MarshalJSON writes a string or a number.
func (t ProgressToken) MarshalJSON() ([]byte, error) {
	if t.isText {
		return json.Marshal(t.text)
	}
	return json.Marshal(t.number)
}

// UnmarshalJSON reads a string or a whole number.
func (t *ProgressToken) UnmarshalJSON(data []byte) error {
	*t = ProgressToken{}
	if len(data) > 0 && data[0] == '"' {
		t.isText = true
		return json.Unmarshal(data, &t.text)
	}
	if err := json.Unmarshal(data, &t.number); err != nil {
		return fmt.Errorf("progress token %.40s: want a string or a whole number", data)
	}
	return nil
}

// WorkDoneParams is the params of $/progress: how far something has come.
type WorkDoneParams struct {
	Token ProgressToken `json:"token"`
	Value WorkDone      `json:"value"`
}

// WorkDone is one state of a progress.
type WorkDone struct {
	Kind WorkDoneKind `json:"kind"`
	// Title comes with begin alone.
	Title       string `json:"title,omitempty"`
	Cancellable bool   `json:"cancellable,omitempty"`
	Message     string `json:"message,omitempty"`
}

// WorkDoneKind says where in its life a progress is.
type WorkDoneKind string

// The life of a progress.
const (
	WorkBegin  WorkDoneKind = "begin"
	WorkReport WorkDoneKind = "report"
	WorkEnd    WorkDoneKind = "end"
)

// ProgressTokenParams creates a progress, or cancels one.
type ProgressTokenParams struct {
	Token ProgressToken `json:"token"`
}
