// Package provider is the contract between a payment provider's adapter and
// the HTTP edge: what an adapter is given (Request), what it answers (a verified
// order.Notification or one of four errors) and how it words its ack (Answer).
//
// It imports order and the standard library. It knows no provider by name.
package provider

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

// Request is one inbound POST as the edge hands it over: the header, the exact
// bytes of the body and the time of receipt. Nothing has been parsed.
type Request struct {
	Header     http.Header
	Body       []byte
	ReceivedAt time.Time // from the edge's clock; adapters read no other
}

// Provider turns requests into facts and words the answers. It is made for one
// account, is safe for concurrent use and does no I/O in Parse and Ack.
type Provider interface {
	// Parse returns a verified notification, or a *Refusal that wraps
	// ErrMalformed, ErrSignature, ErrForeign or ErrUnavailable. There is no way
	// to get a notification that was not verified.
	Parse(req Request) (order.Notification, error)
	// Ack words the answer: err nil after the commit, otherwise why not. Only
	// the header of the request may decide its shape, for a request may be
	// answered before its body was read.
	Ack(req Request, err error) Answer
	// Reload reads the key files again when they have changed: all or nothing.
	// After an error the keys in use stay as they were.
	Reload() (changed bool, err error)
	// Identity is what may be configured once only, for instance
	// "mchid 1900000001"; two accounts of one provider with the same identity
	// are a configuration error.
	Identity() string
	// Keys describes the keys in use, for readiness and diagnosis.
	Keys() []KeyInfo
}

// KeyInfo describes a verification key for people: never the key itself.
type KeyInfo struct {
	ID       string    // serial or public key id; a fingerprint where the provider gives none
	Kind     string    // "certificate", "public key", "api v2 key", …
	NotAfter time.Time // zero: no end
}

// An id of more than longID bytes, a serial or a public key id, is cut to
// shortHead and shortTail: enough to tell keys apart, and to find one in a console.
const longID, shortHead, shortTail = 24, 8, 6

// ShortID is an id for lines that list several: beginning and end of a long one.
func ShortID(id string) string {
	if len(id) <= longID {
		return id
	}
	return id[:shortHead] + "…" + id[len(id)-shortTail:]
}

// The four errors of Parse.
var (
	// ErrMalformed: there is no envelope at all. 400.
	ErrMalformed = errors.New("malformed")
	// ErrSignature: not proven. One answer for every cause. 401.
	ErrSignature = errors.New("not proven")
	// ErrForeign: proven, but not for this account. 401, the same answer.
	ErrForeign = errors.New("not ours")
	// ErrUnavailable: cannot be decided or committed now, a retry may end
	// better. 503.
	ErrUnavailable = errors.New("unavailable")
)

// Refusal is an error of Parse with a private reason: a code of a closed list
// for logs, metrics and diagnosis, and a detail for the log that holds no
// secret, no personal data and no text of the message longer than a key id.
type Refusal struct {
	Class  error  // one of the four
	Code   string // "wx.unknown_serial"
	Detail string // "serial 7D4B… is not configured"; may be empty
}

func (r *Refusal) Error() string {
	if r.Detail == "" {
		return r.Code
	}
	return r.Code + ": " + r.Detail
}

func (r *Refusal) Unwrap() error { return r.Class }

// Refuse makes a Refusal; args as for fmt.Sprintf.
func Refuse(class error, code, format string, args ...any) *Refusal {
	return &Refusal{Class: class, Code: code, Detail: Clip(fmt.Sprintf(format, args...), maxDetail)}
}

const maxDetail = 256 // bytes of foreign text that a log line may carry

// Clip cuts s to at most n bytes.
func Clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// Code is the reason code of err; "" for nil and for errors that have none.
func Code(err error) string {
	if err == nil {
		return "" // as it is nearly always
	}
	var r *Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// Answer is what goes back to the provider, byte for byte.
type Answer struct {
	Status      int
	ContentType string // "" with an empty Body
	Body        []byte
}

// Error classes of the edge, for Ack: they happen before Parse.
var (
	ErrTooLarge = errors.New("body too large")
	ErrEncoding = errors.New("content encoding not accepted")
	ErrMethod   = errors.New("method not accepted")
)

// Status is the HTTP status of an error class, the same for every provider:
// 200 for nil. What is not known is 503, so that the provider asks again.
func Status(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, ErrMalformed):
		return http.StatusBadRequest
	case errors.Is(err, ErrSignature), errors.Is(err, ErrForeign):
		return http.StatusUnauthorized
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrEncoding):
		return http.StatusUnsupportedMediaType
	case errors.Is(err, ErrMethod):
		return http.StatusMethodNotAllowed
	}
	return http.StatusServiceUnavailable
}

// Secret is a text that prints as a mask wherever it is printed.
type Secret string

const mask = "***"

func (s Secret) String() string               { return mask }
func (s Secret) GoString() string             { return mask }
func (s Secret) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(mask)) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + mask + `"`), nil }

// Reveal is the text itself: for keys, never for people.
func (s Secret) Reveal() string { return string(s) }

// Equal compares in constant time.
func (s Secret) Equal(t string) bool {
	return subtle.ConstantTimeCompare([]byte(s), []byte(t)) == 1
}

// Env is what an adapter is given besides its own options.
type Env struct {
	Account  string // the configured name, the last part of the URL
	Merchant string // the merchant whose orders they are
	// ReadFile reads a file named in the options; the path is relative to the
	// configuration file.
	ReadFile func(path string) ([]byte, error)
}

// Problem is one fault of an account's options, for people. Field is the path
// within the account, for instance "public_keys[0].file"; "" for the account.
type Problem struct{ Field, Text string }

// Doubtful is a Provider that can say which of its options look wrong though
// they can be used: a number that no provider gives, most likely mistyped.
type Doubtful interface {
	Doubts() Problems
}

// Problems is an error made of all that is wrong with an account.
type Problems []Problem

// Add adds what is wrong with a field.
func (p *Problems) Add(field, format string, args ...any) {
	*p = append(*p, Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// Doubt adds what looks wrong with a field; "" is nothing.
func (p *Problems) Doubt(field, text string) {
	if text != "" {
		*p = append(*p, Problem{Field: field, Text: text})
	}
}

func (p Problems) Error() string {
	switch len(p) {
	case 0:
		return "no problem"
	case 1:
		return p[0].Field + ": " + p[0].Text
	}
	return fmt.Sprintf("%s: %s (and %d more)", p[0].Field, p[0].Text, len(p)-1)
}
