//go:build !race

package rpc

const largeText = 64 << 20
