package sandbox

import (
	"context"
	"strconv"
	"strings"
	"time"

	"jjm"
)

const (
	maxProgress = 1 << 10
	maxPhase    = 64
)

// PutProgress publishes how far the application at a position has come. Nothing
// is synced: progress may be put many times a second.
func (a *Area) PutProgress(tag jjm.Tag, pos int32, p jjm.Progress) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	line := formatProgress(p)
	if back, ok := parseProgress(line); !ok || back != p {
		return jjm.Errorf(jjm.Invalid,
			"sandbox: progress %.40q %d of %d: want a phase of one word, at most %d letters, and numbers not below 0", p.Phase,
			p.Done, p.Total, maxPhase)
	}
	name := posFile(tag, "progress", pos, "")
	return wrap(a.replaceBytes(name, quick, []byte(line)), "write progress %s", name)
}

// Progress returns the progress of the positions whose file was written at or
// after since, by the clock of the file system, and the position at which to go
// on, or All. Files that are no progress are left out.
func (a *Area) Progress(ctx context.Context, tag jjm.Tag, look Look, since time.Time) (map[int32]jjm.Progress, int32,
	error) {
	if err := checkTag(tag); err != nil {
		return nil, look.From, err
	}
	where := BulkDir(tag) + "/progress"
	dir, err := a.openDir(where)
	if err != nil {
		return nil, look.From, wrap(err, "list progress of bulk %s", tag)
	}
	defer dir.Close()
	there, _, err := look.positions(dir, "")
	if err != nil {
		return nil, look.From, wrap(err, "list progress of bulk %s", tag)
	}
	all := make(map[int32]jjm.Progress)
	for _, pos := range there {
		if ctx.Err() != nil {
			return all, pos, nil
		}
		f, info, err := a.openIn(dir, where, strconv.Itoa(int(pos)))
		if err != nil {
			continue // replaced or removed meanwhile, or not a file
		}
		if !info.ModTime().Before(since) {
			b, err := readLimited(f, info.Size(), maxProgress)
			if p, ok := parseProgress(string(b)); ok && err == nil {
				all[pos] = p
			}
		}
		f.Close()
	}
	return all, All, nil
}

func formatProgress(p jjm.Progress) string {
	return p.Phase + " " + strconv.FormatInt(p.Done, 10) + " " + strconv.FormatInt(p.Total, 10) + "\n"
}

// parseProgress reads "PHASE DONE TOTAL".
func parseProgress(s string) (jjm.Progress, bool) {
	words := strings.Fields(s)
	if len(words) != 3 || len(words[0]) > maxPhase || strings.IndexFunc(words[0], isControl) >= 0 {
		return jjm.Progress{}, false
	}
	done, err1 := strconv.ParseInt(words[1], 10, 64)
	total, err2 := strconv.ParseInt(words[2], 10, 64)
	if err1 != nil || err2 != nil || done < 0 || total < 0 {
		return jjm.Progress{}, false
	}
	return jjm.Progress{Phase: words[0], Done: done, Total: total}, true
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f || r == 0xFFFD }
