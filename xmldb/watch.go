package xmldb

import (
	"context"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// Watch returns a channel that receives a value soon after files arrived, one value for several files. The channel is
// closed after ctx has ended; by then its goroutine has ended too. inotify(7) does not report files that other hosts
// write to a network file system, and may run out of watches, so callers must also scan from time to time.
func (d *Drop) Watch(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(d.dir); err != nil {
			w.Close()
			w = nil
		}
	}
	if err != nil {
		d.warn("the drop folder cannot be watched: it is only scanned from time to time", "dir", d.dir, "error", err)
		w = nil
	}
	go func() {
		defer close(c)
		if w == nil {
			<-ctx.Done()
			return
		}
		defer w.Close()
		d.watch(ctx, w, c)
	}()
	return c
}

// watch sends a value to c whenever a complete file may have arrived, until ctx ends.
func (d *Drop) watch(ctx context.Context, w *fsnotify.Watcher, c chan<- struct{}) {
	tell := func() {
		select {
		case c <- struct{}{}:
		default: // a value is already waiting
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case ev, ok := <-w.Events:
			if !ok {
				return
			}
			if ev.Has(fsnotify.Create) || ev.Has(fsnotify.Write) {
				if complete(filepath.Base(ev.Name)) {
					tell()
				}
			}
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			// An overflow means that events were lost, so a scan is necessary.
			d.warn("events of the drop folder may be lost: it is scanned now", "dir", d.dir, "error", err)
			tell()
		}
	}
}
