//go:build race

package rpc

// The race detector makes each byte of JSON some twenty times as dear.
const largeText = 4 << 20
