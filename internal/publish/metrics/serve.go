package metrics

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"jjm/internal/publish/connections"
)

const (
	// mostConnections bounds the open connections, and mostScrapes the scrapes in progress.
	mostConnections = 32
	mostScrapes     = 4
	// requestTime is how long a client may take to send a request, and answerTime how long the answer may take in all.
	// idleTime is how long a connection may stay open between two requests.
	requestTime = 5 * time.Second
	answerTime  = 2 * scrapeTime
	idleTime    = 2 * time.Minute
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
)

// Handler answers GET /metrics, and refuses every other request.
func (m *Meter) Handler() http.Handler {
	scrape := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes, Timeout: scrapeTime})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/metrics":
			http.Error(w, "nothing is here but /metrics", http.StatusNotFound)
		case r.Method != http.MethodGet:
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "want GET", http.StatusMethodNotAllowed)
		default:
			scrape.ServeHTTP(w, r)
		}
	})
}

// Serve answers requests on l until ctx ends, then closes l and all connections. It returns nil then, and an error if l
// fails.
func (m *Meter) Serve(ctx context.Context, l net.Listener, log *slog.Logger) error {
	server := &http.Server{Handler: m.Handler(), ReadTimeout: requestTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(connections.Limit(l, mostConnections))
	if ctx.Err() != nil && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
