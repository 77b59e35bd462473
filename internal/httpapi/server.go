// Package httpapi is the HTTP edge of notifyd: the two listeners, the way in for
// notifications, the admin and merchant APIs, metrics and probes. It owns every bound on what
// strangers may send, every status code and every error body, and the one log
// line of a request.
//
// It imports order, provider, refusal and idempotency, and it is the only package that knows the
// router. It knows no provider and no database: what it needs of them stands in
// small interfaces here.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/refusal"
)

// Options is what a Server is made of. All but the delays are required.
type Options struct {
	PublicListen, PrivateListen string // host:port; port 0 takes a free one

	Accounts  []Account
	Merchants []string        // the configured ones, without sub-merchants
	Token     provider.Secret // of the admin API; "" lets nobody in

	Recorder   Recorder
	Commands   Commands
	Reader     order.Reader
	Refusals   refusal.Reader
	Keeper     Keeper
	API        MerchantAPI
	Deliveries Deliveries
	Heart      Heart
	Metrics    *Metrics

	Now     func() time.Time           // read once per notification: its time of receipt
	NewID   func(prefix string) string // "ntf_" and more, never the same twice
	Log     *slog.Logger
	Version string // for the OpenAPI document

	DrainDelay      time.Duration // how long a stopping server serves on, so that a balancer can turn away
	ShutdownTimeout time.Duration // after that: how long what is in flight may take
}

// Server is the two listeners.
type Server struct {
	opt     Options
	ready   *readiness
	public  side
	private side

	// base is the context of every request; cancelled, what is in flight ends.
	base    context.Context
	giveUp  context.CancelCauseFunc
	failure chan error // of a listener that ended by itself; has room for both
	running sync.WaitGroup
}

type side struct {
	http     *http.Server
	listener net.Listener
}

// errStopping is the cause of work that the end of the process cut short.
var errStopping = errors.New("the process is ending")

// New makes a server that does not listen yet.
func New(opt Options) (*Server, error) {
	accounts := make(map[string]Account, len(opt.Accounts))
	for _, a := range opt.Accounts {
		accounts[a.Name] = a
	}
	s := &Server{opt: opt, failure: make(chan error, 2)}
	s.base, s.giveUp = context.WithCancelCause(context.Background())
	s.ready = &readiness{heart: opt.Heart, accounts: accounts, log: opt.Log, tried: make(chan struct{})}
	document, err := openAPIDocument(opt.Version)
	if err != nil {
		return nil, fmt.Errorf("make the OpenAPI document: %w", err)
	}
	pub := &public{accounts: accounts, taker: NewTaker(opt.Recorder, opt.NewID), now: opt.Now, newID: opt.NewID, metrics: opt.Metrics,
		edge: newEdge(opt.Log, opt.Metrics, "public"), intake: newIntake(), keeper: opt.Keeper, slots: make(chan struct{}, maxInFlight),
		draining: s.ready.draining.Load, base: s.base}
	priv := &private{merchants: opt.Merchants, token: opt.Token, commands: opt.Commands, reader: opt.Reader, refusals: opt.Refusals,
		metrics: opt.Metrics, edge: newEdge(opt.Log, opt.Metrics, "private"), ready: s.ready, document: document,
		api: opt.API, deliveries: opt.Deliveries, now: opt.Now, newID: opt.NewID, waiting: make(chan struct{}, maxWaiting), stopping: make(chan struct{})}
	s.public.http = s.newHTTP(pub.handler())
	s.public.http.ReadTimeout, s.public.http.WriteTimeout = readTimeout, writeTimeout
	s.private.http = s.newHTTP(priv.handler())
	s.private.http.ReadTimeout, s.private.http.WriteTimeout = privateReadTimeout, privateWriteTimeout
	s.private.http.RegisterOnShutdown(sync.OnceFunc(func() { close(priv.stopping) }))
	return s, nil
}

// newHTTP is what both listeners have in common. HTTP/1 only: providers need no
// other, and every protocol is a surface.
func (s *Server) newHTTP(h http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:                      h,
		Protocols:                    protocols,
		MaxHeaderBytes:               maxHeaderBytes - headerSlackBytes,
		ReadHeaderTimeout:            headerTimeout,
		IdleTimeout:                  idleTimeout,
		DisableGeneralOptionsHandler: true,
		ConnState:                    connState,
		ConnContext:                  connContext,
		BaseContext:                  func(net.Listener) context.Context { return s.base },
		ErrorLog:                     slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug),
	}
}

// Listen opens both listeners.
func (s *Server) Listen(ctx context.Context) error {
	var config net.ListenConfig
	public, err := config.Listen(ctx, "tcp", s.opt.PublicListen)
	if err != nil {
		return fmt.Errorf("open the public listener %s: %w", s.opt.PublicListen, err)
	}
	private, err := config.Listen(ctx, "tcp", s.opt.PrivateListen)
	if err != nil {
		_ = public.Close()
		return fmt.Errorf("open the private listener %s: %w", s.opt.PrivateListen, err)
	}
	s.use(public, private)
	return nil
}

func (s *Server) use(public, private net.Listener) {
	s.public.listener, s.private.listener = newCrowd(public, maxConnections), newCrowd(private, maxConnections)
}

// Addrs are the addresses that are listened on.
func (s *Server) Addrs() (public, private net.Addr) {
	return s.public.listener.Addr(), s.private.listener.Addr()
}

// Run serves until ctx ends and then stops: not ready at once, it serves on for
// the drain delay, stops accepting and finishes what is in flight. It returns
// nil after an orderly end, within DrainDelay and ShutdownTimeout, and an error
// when a listener failed.
func (s *Server) Run(ctx context.Context) error {
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	s.running.Go(func() { s.ready.watch(watching) })
	for _, side := range []side{s.public, s.private} {
		s.running.Go(func() {
			if err := side.http.Serve(side.listener); !errors.Is(err, http.ErrServerClosed) {
				s.failure <- fmt.Errorf("listener %s: %w", side.listener.Addr(), err)
			}
		})
	}
	err := s.drain(ctx)
	s.stop()
	stopWatching()
	s.running.Wait()
	return err
}

// drain waits for the end of ctx, and then for the drain delay.
func (s *Server) drain(ctx context.Context) error {
	select {
	case err := <-s.failure:
		s.ready.draining.Store(true)
		return err
	case <-ctx.Done():
	}
	s.ready.draining.Store(true)
	if s.opt.DrainDelay <= 0 {
		return nil
	}
	delay := time.NewTimer(s.opt.DrainDelay)
	defer delay.Stop()
	select {
	case err := <-s.failure:
		return err
	case <-delay.C:
		return nil
	}
}

// stop ends both listeners. Shortly before the time is over, what still runs is
// told to give up, so that senders hear 503 and not a broken connection.
func (s *Server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), s.opt.ShutdownTimeout)
	defer cancel()
	last := time.AfterFunc(s.opt.ShutdownTimeout-s.opt.ShutdownTimeout/5, func() { s.giveUp(errStopping) })
	defer last.Stop()
	for _, side := range []side{s.public, s.private} {
		if err := side.http.Shutdown(ctx); err != nil {
			_ = side.http.Close()
		}
	}
	s.giveUp(errStopping)
}
