package web

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"jjm/internal/jjm"
)

const (
	// mostListeners bounds the listeners of live updates in all, and mostOfOne bounds the listeners of one account.
	// Readers without an account count as one account.
	mostListeners = 64
	mostOfOne     = 16
	// watchTime is the time for which a listener is served. A browser then connects again, and its reader is identified
	// again.
	watchTime = 10 * time.Minute
	// aliveEvery is the time between two messages to a listener while nothing changes. These messages detect a listener
	// that is gone. eventTime is the time in which a listener must read an event.
	aliveEvery = 15 * time.Second
	eventTime  = 10 * time.Second
	// mostSettled bounds how often in succession a settled view is not read. Then it is read, because it may show a fact
	// that its settled state lacks, such as a notice that was given up.
	mostSettled = 150
)

// listeners counts the browsers that receive live updates, in total and by account.
type listeners struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// add adds a listener of an account. It returns false if there are too many.
func (l *listeners) add(account string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= mostListeners || l.by[account] >= mostOfOne {
		return false
	}
	l.all++
	l.by[account]++
	return true
}

// remove removes a listener of an account.
func (l *listeners) remove(account string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.by[account]--; l.by[account] == 0 {
		delete(l.by, account)
	}
}

// live returns the handler that sends the changes of a view: server-sent events, each with the version of the view.
func (p *Page) live(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Error(w, "want GET", http.StatusMethodNotAllowed)
			return
		}
		v, err := p.who.viewer(r)
		if err != nil {
			p.refuse(w, r, v, err)
			return
		}
		if !p.listeners.add(v.key()) {
			p.refuse(w, r, v, jjm.Errorf(jjm.Busy, "too many pages are watched at this moment: close some, or load the page "+
				"again later"))
			return
		}
		defer p.listeners.remove(v.key())
		ctx, cancel := context.WithTimeout(r.Context(), watchTime)
		defer cancel()
		version, err := p.version(ctx, name, v, r)
		if err != nil {
			p.refuse(w, r, v, err)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
		p.watch(ctx, &watched{p: p, name: name, v: v, r: r, version: version},
			&events{w, http.NewResponseController(w)})
	}
}

// version returns the version of a view.
func (p *Page) version(ctx context.Context, name string, v viewer, r *http.Request) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_, version, err := p.ask(ctx, name, v, r, false)
	return version, err
}

// watched is a view that a listener watches.
type watched struct {
	p    *Page
	name string
	v    viewer
	r    *http.Request

	version string // the last version of the view
	settled string // the settled state of this version, "" if the view is not settled
	kept    int    // how often in succession the view was not read, because it is settled
}

// next returns the present version of the view. It does not read the view while its settled state is unchanged.
func (w *watched) next(ctx context.Context) (string, error) {
	settled := w.settle(ctx)
	if w.kept++; settled != "" && settled == w.settled && w.kept <= mostSettled {
		return w.version, nil
	}
	version, err := w.p.version(ctx, w.name, w.v, w.r)
	w.version, w.settled, w.kept = version, settled, 0
	return version, err
}

// settle returns the settled state of the view, "" if the view is not settled or the state cannot be read.
func (w *watched) settle(ctx context.Context) string {
	ask := w.p.views[w.name].settled
	if ask == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	state, err := ask(ctx, w.v, w.r)
	if err != nil {
		return ""
	}
	return state
}

// watch sends the version of a view, and sends the version again at every change. It returns when the listener is gone
// or ctx ends. An error about the view, for example because its job was removed, is sent as a change; the page then
// shows the error.
func (p *Page) watch(ctx context.Context, view *watched, out *events) {
	version := view.version
	// The server's time to read a request does not apply to a listener.
	if out.to.SetReadDeadline(time.Time{}) != nil || !out.send("event: version\ndata: "+version) {
		return
	}
	tick, alive := time.NewTicker(p.d.Every), time.NewTicker(aliveEvery)
	defer tick.Stop()
	defer alive.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-alive.C:
			if !out.send(":") {
				return
			}
		case <-tick.C:
			now, err := view.next(ctx)
			if err != nil && jjm.KindOf(err) != jjm.Gone {
				continue // the daemon is busy
			}
			if now != version && !out.send("event: version\ndata: "+now) {
				return
			}
			if version = now; err != nil {
				return
			}
		}
	}
}

// events sends server-sent events to a listener.
type events struct {
	w  http.ResponseWriter
	to *http.ResponseController
}

// send sends an event. It returns false if the listener does not read, or is gone.
func (e *events) send(text string) bool {
	if e.to.SetWriteDeadline(time.Now().Add(eventTime)) != nil {
		return false
	}
	if _, err := fmt.Fprintf(e.w, "%s\n\n", text); err != nil {
		return false
	}
	return e.to.Flush() == nil
}
