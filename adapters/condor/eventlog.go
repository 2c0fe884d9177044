package condor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// lookEvery is the interval of checks of the event log. Inotify would not report the writes of other hosts to a shared
// file system.
const lookEvery = 250 * time.Millisecond

// Run follows the schedd's event log until ctx ends, if there is such a log. When the log grows, a listing may differ,
// and Run sends a value to the channel of Changed. Run draws no other conclusion from the log.
func (a *Adapter) Run(ctx context.Context) error {
	if a.config.EventLog == "" {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	tail := &follower{path: a.config.EventLog}
	trouble := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		news, err := tail.grown()
		if now := errorText(err); now != trouble {
			trouble = now
			if err != nil {
				a.env.Warn("the event log cannot be read: until it can, jobs are listed as often as without it",
					"file", a.config.EventLog, "error", err)
			}
		}
		if news {
			select {
			case a.changed <- struct{}{}:
			default:
			}
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// follower reads new text of a file that may be rotated.
type follower struct {
	path string
	last os.FileInfo // identity of the last file that was read
	at   int64       // offset of the first unread byte
}

// jjmMark is a text in every event about a job of jjm, provided that the schedd's EVENT_LOG_JOB_AD_INFORMATION_ATTRS
// has this attribute.
const jjmMark = "JJMTag"

// maxNews is the largest growth, in bytes, that is read. Larger growth counts as new events without being read.
const maxNews = 1 << 20

// grown reports whether the file has new events about jobs of jjm, or was replaced by another file.
func (f *follower) grown() (bool, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, os.ErrNotExist) && f.last == nil {
		return false, err
	}
	if err != nil {
		f.last = nil
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	if f.last == nil || !os.SameFile(f.last, info) || info.Size() < f.at || info.Size() > f.at+maxNews {
		grown := f.last == nil || info.Size() != f.at || !os.SameFile(f.last, info)
		f.last, f.at = info, info.Size()
		return grown, nil
	}
	text, err := io.ReadAll(io.NewSectionReader(file, f.at, info.Size()-f.at))
	// A partly written event is read again next time.
	whole := bytes.LastIndexByte(text, '\n') + 1
	f.at += int64(whole)
	return bytes.Contains(text[:whole], []byte(jjmMark)), err
}
