package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
)

// assets are the files that pages load: the style sheet, the script, and uPlot (https://github.com/leeoniya/uPlot, MIT
// licence), which draws the plot.
//
//go:embed assets
var assets embed.FS

//go:embed templates
var templates embed.FS

// policy permits only scripts, style sheets and connections of the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const (
	// askTime is the time in which the daemon must return the content of a page. mostAsks bounds the number of pages that
	// are made at the same time.
	askTime  = 10 * time.Second
	mostAsks = 8
)

// Deps are the dependencies of a page. All functions may be called from many goroutines.
type Deps struct {
	// Site is the name of the site.
	Site string
	// Verbs are the verbs of the socket, and Counts returns the counts of jobs.
	Verbs  []serve.Verb
	Counts func() health.Counts
	// Account returns the account with a name. The error is of kind Invalid if there is none.
	Account func(ctx context.Context, name string) (wire.Caller, error)
	// ProxyUID is the account that may set the header Config.UserHeader; -1 means none.
	ProxyUID int
	Now      func() time.Time
	Log      *slog.Logger
	// Every is the time between two comparisons of a watched page with the daemon's state.
	Every time.Duration
}

// Page serves the web page.
type Page struct {
	d         Deps
	who       gatekeeper
	asks      chan struct{}
	reads     chan struct{} // reads of files that run
	listeners listeners
	checks    checks
	views     map[string]view
	layouts   map[string]*template.Template
}

// view is one kind of page. state returns the content whose changes are sent to listeners, that is, to browsers that
// show the page. fill, if set, adds the content that is read only once, when the page is shown. takes are the names of
// the parameters that an address of the page may have. settled, if set, returns a short state of the view, "" if the
// view can change while the short state does not. It costs much less than state.
type view struct {
	state func(context.Context, viewer, *http.Request) (any, error)
	fill  func(context.Context, viewer, any) error
	takes []string

	settled func(context.Context, viewer, *http.Request) (string, error)
}

// New returns the web page of the site. It starts no listener and no goroutine.
func New(c Config, d Deps) *Page {
	proxy := -1
	if c.UserHeader != "" {
		proxy = d.ProxyUID
	}
	p := &Page{d: d, asks: make(chan struct{}, mostAsks), reads: make(chan struct{}, mostReads),
		listeners: listeners{by: map[string]int{}}, layouts: map[string]*template.Template{}}
	p.who = gatekeeper{header: c.UserHeader, proxyUID: proxy, tokens: tokens{path: c.Tokens, log: d.Log},
		accounts: accounts{lookup: d.Account, now: d.Now, known: map[string]knownAccount{}}}
	p.views = map[string]view{
		"farm":    {p.farm, p.fillFarm, gridParams(), nil},
		"cluster": {p.cluster, nil, nil, nil},
		"job":     {p.job, p.fillJob, []string{"from"}, p.settledJob},
	}
	for name := range p.views {
		p.layouts[name] = layout(name)
	}
	p.layouts["error"] = layout("error")
	return p
}

// Trouble returns why no token is accepted, "" if tokens are accepted or if the site has none. It may be called from
// many goroutines.
func (p *Page) Trouble() string { return p.who.tokens.trouble() }

// layout returns the template of a view within the frame of all pages. The templates are part of the program, so every
// test finds a mistake in a template.
func layout(name string) *template.Template {
	return template.Must(template.New("frame.html").Funcs(shown()).ParseFS(templates, "templates/frame.html",
		"templates/parts.html", "templates/"+name+".html"))
}

// frame is the content that all pages have in common.
type frame struct {
	Title, Site string
	Viewer      viewer
	Known       bool
	At          jjm.Time
	// Version changes whenever the view changes; "" if the page has no live updates.
	Version string
	View    any
}

// Handler answers the requests of readers.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, name := range map[string]string{"/{$}": "farm", "/clusters/{name}": "cluster", "/jobs/{id}": "job"} {
		mux.HandleFunc(pattern, p.page(name))
		mux.HandleFunc("/live"+pattern, p.live(name))
	}
	mux.HandleFunc("/assets/{file}", p.asset)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.refuse(w, r, nobody(), jjm.Errorf(jjm.Gone, "nothing is at this address"))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "this page only shows: want GET", http.StatusMethodNotAllowed)
		case r.ContentLength != 0:
			h.Set("Connection", "close")
			http.Error(w, "want a request without a body", http.StatusBadRequest)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// page returns the handler that shows the view with this name.
func (p *Page) page(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := p.who.viewer(r)
		if err != nil {
			p.refuse(w, r, v, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), askTime)
		defer cancel()
		state, version, err := p.ask(ctx, name, v, r, true)
		if err != nil {
			p.refuse(w, r, v, err)
			return
		}
		p.send(w, name, http.StatusOK, frame{Title: title(name, r), Viewer: v, Version: version, View: state})
	}
}

// title returns the title of the page that shows a view.
func title(name string, r *http.Request) string {
	switch name {
	case "cluster":
		return "Cluster " + r.PathValue("name")
	case "job":
		return "Job " + r.PathValue("id")
	}
	return "The site"
}

// ask returns the content of a view, and a version that changes with this content. If whole is set, ask also adds the
// content that is not watched for changes. At most mostAsks calls run at the same time; if ctx ends while a call waits,
// the error is of kind Busy.
func (p *Page) ask(ctx context.Context, name string, v viewer, r *http.Request, whole bool) (state any, version string,
	err error) {
	if err := checkQuery(r.URL.RawQuery, p.views[name].takes); err != nil {
		return nil, "", err
	}
	select {
	case p.asks <- struct{}{}:
		defer func() { <-p.asks }()
	case <-ctx.Done():
		return nil, "", jjm.Errorf(jjm.Busy, "the daemon makes many pages at this moment: try again")
	}
	state, err = p.views[name].state(ctx, v, r)
	if err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(state)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(text)
	if fill := p.views[name].fill; whole && fill != nil {
		err = fill(ctx, v, state)
	}
	return state, hex.EncodeToString(sum[:8]), err
}

// send makes a page in memory and sends it.
func (p *Page) send(w http.ResponseWriter, name string, code int, f frame) {
	f.Site, f.At, f.Known = p.d.Site, jjm.At(p.d.Now()), f.Viewer.known
	var text bytes.Buffer
	if err := p.layouts[name].Execute(&text, f); err != nil {
		p.d.Log.Error("a web page cannot be made", "page", name, "error", err)
		http.Error(w, "the page cannot be made: see the log of the daemon", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(text.Bytes()) // a reader who is gone needs no answer
}

// refuse sends a page with the reason why the requested page is not shown. It sends nothing to a reader who is gone.
func (p *Page) refuse(w http.ResponseWriter, r *http.Request, v viewer, err error) {
	if r.Context().Err() != nil {
		return
	}
	code, text := http.StatusInternalServerError, err.Error()
	switch jjm.KindOf(err) {
	case jjm.Denied:
		code = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Bearer realm="jjm"`)
	case jjm.Gone:
		code = http.StatusNotFound
	case jjm.Invalid:
		code = http.StatusBadRequest
	case jjm.Busy:
		code = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "10")
	default:
		if errors.Is(err, context.DeadlineExceeded) {
			code, text = http.StatusServiceUnavailable, "the daemon did not answer in time: try again"
			break
		}
		p.d.Log.Error("a web page cannot be shown", "error", err)
		text = "the page cannot be shown: the log of the daemon has the reason"
	}
	p.send(w, "error", code, frame{Title: fmt.Sprintf("%d %s", code, http.StatusText(code)), Viewer: v, View: text})
}

// asset sends a file of the page.
func (p *Page) asset(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.PathValue("file"))
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		p.refuse(w, r, nobody(), jjm.Errorf(jjm.Gone, "nothing is at this address"))
		return
	}
	sum := sha256.Sum256(text)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	switch {
	case strings.HasSuffix(name, ".js"):
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	case strings.HasSuffix(name, ".css"):
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}
