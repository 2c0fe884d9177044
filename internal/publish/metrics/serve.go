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
	// mostConnections is the maximum number of open connections, and mostScrapes the maximum number of concurrent scrapes.
	mostConnections = 32
	mostScrapes     = 4
	// requestTime is the time for a client to send a request, and answerTime the time for the whole answer. idleTime is
	// the longest time that a connection may stay open between two requests.
	requestTime = 5 * time.Second
	answerTime  = 2 * scrapeTime
	idleTime    = 2 * time.Minute
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
)

// Handler returns a handler that answers GET /metrics and refuses every other request.
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

// Serve answers requests on l until ctx ends. It then closes l and all connections and returns nil. It returns an error
// if l fails.
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
