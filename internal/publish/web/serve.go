package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"jjm/internal/publish/connections"
)

const (
	// mostConnections bounds the open connections.
	mostConnections = 256
	// requestTime is the time for a client to send a request, and answerTime the time for the whole answer. idleTime is
	// the longest time that a connection may stay open between two requests.
	requestTime = 5 * time.Second
	answerTime  = askTime + 20*time.Second
	idleTime    = 2 * time.Minute
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
)

// Serve answers requests on l until ctx ends. It then closes l and all connections, and returns nil. It returns an
// error if l fails.
func (p *Page) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: p.Handler(), ReadTimeout: requestTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ConnContext: withPeer, ErrorLog: slog.NewLogLogger(p.d.Log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(connections.Limit(l, mostConnections))
	if ctx.Err() != nil && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
