package programs

import (
	"os"
	"syscall"
)

// WriteScript writes a program that the account of the tests can run. It prevents forks meanwhile: a child process of
// another goroutine would have the file open for writing until its exec, and running the file would fail with ETXTBSY
// (execve(2)).
func WriteScript(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), 0o700)
}
