package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"tandem/agent/secret"
	"tandem/protocol"
	"tandem/server/config"
	"tandem/server/rpc"
)

// learn takes what is secret in a configuration: the model's key, and the passwords in addresses of
// its server, of databases, and in whatever else it says.
func (r *Registry) learn(cfg config.Config) {
	r.secrets.Learn("model key", cfg.Model.Key)
	var all any
	encoded, err := json.Marshal(cfg)
	if err == nil {
		err = json.Unmarshal(encoded, &all)
	}
	if err != nil { // a configuration was read from a file, and can be written
		r.log.Error("a configuration is not looked through for secrets", zap.Error(err))
	}
	eachText(all, func(text string) { r.secrets.LearnAddress("password", text) })
}

// eachText goes through the texts in decoded JSON.
func eachText(v any, do func(text string)) {
	switch v := v.(type) {
	case string:
		do(v)
	case []any:
		for _, one := range v {
			eachText(one, do)
		}
	case map[string]any:
		for _, one := range v {
			eachText(one, do)
		}
	}
}

// discreet is a handler whose refusals hold no secret: they repeat what was asked, what stands in
// files, what a server has said.
func (r *Registry) discreet(h rpc.Handler) rpc.Handler {
	return func(ctx context.Context, params json.RawMessage) (any, error) {
		result, err := h(ctx, params)
		return result, r.cleanError(err)
	}
}

func (r *Registry) cleanError(err error) error {
	if err == nil || r.secrets.Text(err.Error()) == err.Error() {
		return err
	}
	if refusal := (*protocol.Error)(nil); errors.As(err, &refusal) {
		clean := *refusal
		clean.Text = r.secrets.Text(refusal.Text)
		return &clean
	}
	if wire := (*jsonrpc2.Error)(nil); errors.As(err, &wire) {
		clean := *wire
		clean.Message = r.secrets.Text(wire.Message)
		return &clean
	}
	return errors.New(r.secrets.Text(err.Error()))
}

// discreetCore is a log without secrets, whoever writes to it.
type discreetCore struct {
	zapcore.Core
	secrets *secret.Redactor
}

// With is the log with further fields.
func (c discreetCore) With(fields []zapcore.Field) zapcore.Core {
	return discreetCore{c.Core.With(c.clean(fields)), c.secrets}
}

// Check has the entry come through Write.
func (c discreetCore) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return to.AddCore(e, c)
	}
	return to
}

// Write writes an entry without secrets.
func (c discreetCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	e.Message, e.Stack = c.secrets.Text(e.Message), c.secrets.Text(e.Stack)
	return c.Core.Write(e, c.clean(fields))
}

// clean are fields without secrets: what is no number, no time and no plain text is made one first.
func (c discreetCore) clean(fields []zapcore.Field) []zapcore.Field {
	out := make([]zapcore.Field, len(fields))
	for i, f := range fields {
		switch {
		case f.Type == zapcore.StringType:
			f.String = c.secrets.Text(f.String)
		case f.Interface != nil && f.Type != zapcore.TimeType && f.Type != zapcore.TimeFullType:
			f = zap.String(f.Key, c.secrets.Text(fmt.Sprint(f.Interface)))
		}
		out[i] = f
	}
	return out
}
