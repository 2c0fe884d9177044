package main

import (
	"fmt"
	"os"
	"syscall"

	"jjm/internal/jjm"
)

// writeEnd writes the end record of the wrapper to a file, atomically. The record is for an adapter whose batch system
// may be down when the job ends. It is one line with the wrapper's exit code, times in milliseconds since 1970, and the
// CPU time and memory of the wrapper and its children:
//
//	exit=0 started=1700000000000 ended=1700000001000 user_ms=12 sys_ms=3 rss_kb=4096
func writeEnd(file string, code int, started jjm.Time) error {
	var own, kids syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return err
	}
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &kids); err != nil {
		return err
	}
	line := fmt.Sprintf("exit=%d started=%d ended=%d user_ms=%d sys_ms=%d rss_kb=%d\n", code,
		int64(started), int64(jjm.At(now())),
		(own.Utime.Nano()+kids.Utime.Nano())/1e6, (own.Stime.Nano()+kids.Stime.Nano())/1e6, max(own.Maxrss, kids.Maxrss))
	tmp := fmt.Sprintf("%s.tmp-%d", file, os.Getpid())
	_ = os.Remove(tmp) // the application may have put a file there
	if err := writeNew(tmp, line); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	if err := os.Rename(tmp, file); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return nil
}

// writeNew writes a new file. It returns an error if the file exists.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
