package outbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// Limits of calls.
const (
	// AttemptTimeout bounds a whole attempt, from the name to the last byte that
	// is read of the answer.
	AttemptTimeout = 15 * time.Second
	// MaxResponseBytes is how much of an answer's body is read and kept: enough
	// for an error page's message.
	MaxResponseBytes = 16 << 10
	// maxResponseHeaderBytes is far more than a status line and a few fields.
	maxResponseHeaderBytes = 64 << 10
	// maxIdlePerHost keeps connections for a busy endpoint, idleTimeout lets go
	// of them before most servers do.
	maxIdlePerHost = 8
	idleTimeout    = 30 * time.Second
)

// NewClient makes the client through which every call to a stranger's address
// goes. It looks at each address at which a connection is about to be opened,
// after names were resolved, so that no name can lead it elsewhere. It follows no
// redirect, knows no proxy, and unpacks nothing.
func NewClient(allowPrivate bool, resolver *net.Resolver) *http.Client {
	return newClient(allowPrivate, resolver, nil)
}

// NewVisitor makes the same client for URLs that the user of a command names:
// private addresses are let through, as the user is one who could call them. A
// server proves who it is by roots alone; nil: the system's.
func NewVisitor(roots *x509.CertPool) *http.Client { return newClient(true, nil, roots) }

func newClient(allowPrivate bool, resolver *net.Resolver, roots *x509.CertPool) *http.Client {
	dialer := &net.Dialer{
		Resolver: resolver, // nil: the system's
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%s is no address: %w", address, err)
			}
			return check(to.Addr(), allowPrivate)
		},
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Client{
		Transport: onlyPlain{&http.Transport{
			Proxy:                  nil,
			DialContext:            dialer.DialContext,
			Protocols:              protocols,
			TLSClientConfig:        &tls.Config{RootCAs: roots},
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxResponseHeaderBytes,
			MaxIdleConnsPerHost:    maxIdlePerHost,
			IdleConnTimeout:        idleTimeout,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// onlyPlain refuses URLs that no endpoint needs.
type onlyPlain struct{ *http.Transport }

var errURL = errors.New("only http and https URLs without a user are called")

func (t onlyPlain) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkURL(r.URL); err != nil {
		return nil, err
	}
	return t.Transport.RoundTrip(r)
}

func checkURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Hostname() == "" {
		return errURL
	}
	return nil
}
