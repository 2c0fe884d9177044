package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/testkit/needs"
)

// On a terminal, a text from outside cannot change how the terminal shows the rest of the output, and the JSON has the
// same meaning as the original. A file or a program gets the text unchanged.
func TestPrintJSON_OnATerminalConcealsNothing(t *testing.T) {
	control, terminal, err := openPTY()
	if err != nil {
		needs.Missing(t, "a pseudo-terminal: "+err.Error(), "mount devpts")
	}
	defer control.Close()
	defer terminal.Close()
	text := "a\u202eb\u2066c\u009b31m\u007f\u200b\U000e0041 <ü> 中"
	for file, raw := range map[*os.File]bool{terminal: false, nil: true} {
		var out bytes.Buffer
		c := &cli{out: bufio.NewWriter(&out), outFile: file}
		if err := c.printJSON(map[string]string{"name": text}); err != nil {
			t.Fatal(err)
		}
		_ = c.out.Flush()
		var got map[string]string
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || got["name"] != text {
			t.Errorf("%q means %q, %v", out.String(), got["name"], err)
		}
		if strings.ContainsAny(out.String(), "\u202e\u2066\u009b\u007f\u200b\U000e0041") != raw {
			t.Errorf("on %v: %q", file, out.String())
		}
		if !strings.Contains(out.String(), "<ü> 中") {
			t.Errorf("what is printable was changed: %q", out.String())
		}
	}
}

// If the file with a credential is a pipe, the command refuses it immediately, whether or not a process writes to the
// pipe.
func TestSecrets_ReadFilesOnly(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range []secrets{{Proxy: pipe}, {Token: pipe}} {
		if _, err := s.read(); err == nil || !strings.Contains(err.Error(), "is a fifo: want a regular file") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
