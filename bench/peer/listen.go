package peer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Bounds of the server, as a careful user sets them.
const (
	headerTimeout   = 5 * time.Second
	idleTimeout     = 60 * time.Second
	shutdownTimeout = 5 * time.Second
)

// listen serves until ctx ends and finishes what is in flight.
func listen(ctx context.Context, addr string, h http.Handler, ready func(string)) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	ready(listener.Addr().String())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err = server.Shutdown(closing)
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
