package simulator

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// Notification is what a provider has to say. It keeps its id for ever; each
// time it is sent it is signed anew, as providers do when they repeat one.
type Notification struct {
	path  string
	draft draft
	after []func(*Message) // what happens to it on its way, in order
}

// draft is a message of one protocol before it is signed. Drafts are values:
// what changes one returns another.
type draft interface {
	sign(t time.Time) forge.Message
	// set changes a field before the message is signed.
	set(e Edit) (draft, error)
	// orders are the numbers of the orders that the message names.
	orders() []string
}

// Message is one notification on its way, sent at a time.
type Message struct {
	Path   string // of the notify URL, with the query if there is one
	Header http.Header
	Body   []byte
	SentAt time.Time
}

// At is the notification as it is sent at t.
func (n Notification) At(t time.Time) Message {
	made := n.draft.sign(t)
	m := Message{Path: n.path, Header: made.Header, Body: made.Body, SentAt: t}
	for _, change := range n.after {
		change(&m)
	}
	return m
}

// With is the notification with fields changed before it is signed.
func (n Notification) With(edits ...Edit) (Notification, error) {
	for _, e := range edits {
		if name, ok := e.header(); ok {
			n = n.thenHeader(name, e.text)
			continue
		}
		d, err := n.draft.set(e)
		if err != nil {
			return Notification{}, err
		}
		n.draft = d
	}
	return n, nil
}

// then is the notification to which something happens after it was signed.
func (n Notification) then(change func(*Message)) Notification {
	n.after = append(slices.Clip(n.after), change)
	return n
}

func (n Notification) thenHeader(name, value string) Notification {
	return n.then(func(m *Message) { m.Header.Set(name, value) })
}

// Request is the message as a request to a URL.
func (m Message) Request(ctx context.Context, url string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	r.Header = m.Header.Clone()
	if host := r.Header.Get("Host"); host != "" { // where the client looks for it is no header field
		r.Host = host
		r.Header.Del("Host")
	}
	return r, nil
}

// WriteCapture writes the message as a capture: a raw HTTP request as it was
// received at the moment when it was sent.
func (m Message) WriteCapture(w io.Writer) error {
	var header bytes.Buffer
	if m.Header.Get("Host") == "" {
		header.WriteString("Host: pay.example.com\r\n")
	}
	names := make([]string, 0, len(m.Header))
	for name := range m.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range m.Header[name] {
			header.WriteString(name + ": " + value + "\r\n")
		}
	}
	header.WriteString("Content-Length: " + strconv.Itoa(len(m.Body)) + "\r\n")
	return provider.WriteCapture(w, order.Capture{
		RequestLine: http.MethodPost + " " + m.Path + " HTTP/1.1", Header: header.Bytes(), Body: m.Body,
	}, m.SentAt)
}
