package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architectures are those whose system calls the filter knows, as the kernel numbers them.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64}

// canFilter says whether the filter is there for this machine.
func canFilter() bool { return architectures[runtime.GOARCH] != 0 }

// refused are system calls that no build needs: a ring makes sockets past the filter, and the kernel's keys are the
// developer's.
var refused = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_REQUEST_KEY}

// Where the parts of a system call stand in what a filter sees.
const (
	atNumber   = 0
	atMachine  = 4
	atArgument = 16
)

// x32 marks calls of a second set on x86-64 that reach the same functions by other numbers.
const x32 = 0x40000000

// filter is the program that refuses sockets of all families but some, and what would get around that. Calls of a
// foreign instruction set are all refused: their numbers mean something else.
func filter(families []int) []unix.SockFilter {
	jump := func(how uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	answer := func(with uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with} }
	deny := func(errno uint32) unix.SockFilter { return answer(unix.SECCOMP_RET_ERRNO | errno) }
	allow := answer(unix.SECCOMP_RET_ALLOW)

	program := []unix.SockFilter{
		load(atMachine), jump(unix.BPF_JEQ, architectures[runtime.GOARCH], 1, 0), deny(uint32(unix.EPERM)),
		load(atNumber), jump(unix.BPF_JGE, x32, 0, 1), deny(uint32(unix.EPERM)),
	}
	for _, call := range refused {
		program = append(program, jump(unix.BPF_JEQ, call, 0, 1), deny(uint32(unix.ENOSYS)))
	}
	program = append(program, jump(unix.BPF_JEQ, unix.SYS_SOCKET, 1, 0), allow, load(atArgument))
	for _, f := range families {
		program = append(program, jump(unix.BPF_JEQ, uint32(f), 0, 1), allow)
	}
	return append(program, deny(uint32(unix.EACCES)))
}

// filterFile is the filter as bubblewrap reads it; none where this machine's calls are not known.
func filterFile(families []int) (*os.File, error) {
	if !canFilter() {
		return nil, nil
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, filter(families)); err != nil {
		return nil, fmt.Errorf("write down the filter of system calls: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	if _, err := write.Write(b.Bytes()); err != nil { // It fits into the pipe.
		read.Close()
		return nil, fmt.Errorf("hand over the filter of system calls: %w", err)
	}
	return read, nil
}

// filterThread puts the filter on this thread.
func filterThread(families []int) error {
	program := filter(families)
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&p)), 0, 0)
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}
