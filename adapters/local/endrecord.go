package local

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"jjm/internal/jjm"
	"jjm/internal/sys/wary"
)

// maxEndRecord is the largest size of an end record, in bytes.
const maxEndRecord = 4 << 10

// endRecord is a job's own record of its end. The job writes one line, "exit=0 user_ms=10 sys_ms=2 rss_kb=2048", to a
// temporary name and renames it to the path in JJM_SPOOL_END. The record is used if no daemon waited for the process.
type endRecord struct {
	exit         uint8
	cpuMS, rssKB int64
	at           jjm.Time // time at which the record was written
}

// parseEndRecord parses an end record. It ignores unknown words.
func parseEndRecord(text []byte) (endRecord, error) {
	var r endRecord
	line, rest, whole := strings.Cut(string(text), "\n")
	if !whole || rest != "" || len(text) > maxEndRecord {
		return r, fmt.Errorf("end record %.60q: want one line", text)
	}
	exit := false
	for _, word := range strings.Fields(line) {
		key, value, _ := strings.Cut(word, "=")
		n, err := strconv.ParseInt(value, 10, 48)
		switch key {
		case "exit", "user_ms", "sys_ms", "rss_kb":
			if err != nil || n < 0 || key == "exit" && n > 255 {
				return r, fmt.Errorf("end record: %s: %.40q: want a number", key, value)
			}
		}
		switch key {
		case "exit":
			exit, r.exit = true, uint8(n)
		case "user_ms", "sys_ms":
			r.cpuMS += n
		case "rss_kb":
			r.rssKB = n
		}
	}
	if !exit {
		return r, fmt.Errorf("end record %.60q: no exit", text)
	}
	return r, nil
}

// readEndRecord reads the end record of one job, at name below dir, the folder of its spool entry. The folder of the
// records belongs to the owner, so it may contain any kind of file.
func readEndRecord(dir, name string) (endRecord, error) {
	f, err := wary.Open(dir, name, os.O_RDONLY)
	if err != nil {
		return endRecord{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return endRecord{}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxEndRecord+1))
	if err != nil {
		return endRecord{}, err
	}
	r, err := parseEndRecord(text)
	r.at = jjm.At(info.ModTime())
	return r, err
}
