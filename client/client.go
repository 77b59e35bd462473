package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

const (
	// DefaultAttempts outlast the 30 s for which notifyd keeps the lock of a
	// process that died in the middle of the same request.
	DefaultAttempts = 10
	// DefaultFirstPause is the pause after the first attempt; each next one is
	// twice as long.
	DefaultFirstPause = 250 * time.Millisecond
	// DefaultLongestPause bounds the pauses. Only Retry-After may ask for more.
	DefaultLongestPause = 8 * time.Second
	// DefaultTimeout is how long one attempt may take, its answer included.
	DefaultTimeout = 15 * time.Second

	// jitterPercent keeps callers that failed together from coming back together.
	jitterPercent = 20
	// longestRetryAfter bounds what Retry-After may ask for: a call that sleeps
	// longer helps nobody.
	longestRetryAfter = 5 * time.Minute
	// maxAnswerBytes is far above a full page of the feed.
	maxAnswerBytes = 8 << 20
)

// Client makes signed calls to the merchant API. It is safe for use by several
// goroutines and keeps no state besides connections.
type Client struct {
	base string
	// sign holds the secret where no %+v can print it.
	sign         func(r *http.Request, body []byte)
	http         http.Client
	now          func() time.Time
	attempts     int
	firstPause   time.Duration
	longestPause time.Duration
	timeout      time.Duration
}

// Option changes how a [Client] works.
type Option func(*Client)

// WithTransport sends requests through something else than a copy of
// http.DefaultTransport: for TLS settings, a proxy, tracing.
func WithTransport(transport http.RoundTripper) Option {
	return func(c *Client) { c.http.Transport = transport }
}

// WithClock takes the time of the signatures from now.
func WithClock(now func() time.Time) Option { return func(c *Client) { c.now = now } }

// WithAttempts sets how often a call is tried, [DefaultAttempts] otherwise. 1: once.
func WithAttempts(n int) Option { return func(c *Client) { c.attempts = n } }

// WithPauses sets the pause after the first attempt, which doubles each time,
// and the longest one. Each is 20 % shorter or longer, at random.
func WithPauses(first, longest time.Duration) Option {
	return func(c *Client) { c.firstPause, c.longestPause = first, longest }
}

// WithTimeout sets how long one attempt may take, [DefaultTimeout] otherwise. A
// long poll may take its waiting time in addition.
func WithTimeout(timeout time.Duration) Option { return func(c *Client) { c.timeout = timeout } }

// New makes a client for the private listener of a notifyd, for instance
// http://127.0.0.1:8081, with one of the merchant's api_keys. It connects to
// nothing yet.
func New(baseURL, keyID, secret string, options ...Option) (*Client, error) {
	base, err := url.Parse(baseURL)
	switch {
	case err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		// The URL itself may hold a password and stays out of the error.
		return nil, errors.New("the base URL must be like http://127.0.0.1:8081")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "" || base.Path != "" && base.Path != "/":
		return nil, errors.New("the base URL must be a scheme and a host alone: the signature covers the path, which has to reach notifyd as it is")
	case !visible(keyID):
		return nil, errors.New("the key id must be 1 to 255 visible ASCII characters: it is the id of one of the merchant's api_keys")
	case secret == "":
		return nil, errors.New("the secret of the key is empty")
	}
	c := &Client{
		base:         base.Scheme + "://" + base.Host,
		now:          time.Now,
		attempts:     DefaultAttempts,
		firstPause:   DefaultFirstPause,
		longestPause: DefaultLongestPause,
		timeout:      DefaultTimeout,
	}
	// A redirected request would be signed for another address.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.sign = func(r *http.Request, body []byte) { Sign(r, keyID, secret, body, c.now()) }
	for _, option := range options {
		option(c)
	}
	if c.attempts < 1 || c.firstPause <= 0 || c.longestPause < c.firstPause || c.timeout <= 0 {
		return nil, fmt.Errorf("a client needs at least one attempt, pauses above zero of which the first is not the longest, and a timeout; these are %d, %v to %v, %v",
			c.attempts, c.firstPause, c.longestPause, c.timeout)
	}
	if c.http.Transport == nil {
		if standard, ok := http.DefaultTransport.(*http.Transport); ok {
			c.http.Transport = standard.Clone()
		}
	}
	return c, nil
}

// maxHeaderValue is the longest idempotency key that notifyd takes.
const maxHeaderValue = 255

// visible says whether a text is 1 to 255 visible ASCII characters.
func visible(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return text != "" && len(text) <= maxHeaderValue
}
