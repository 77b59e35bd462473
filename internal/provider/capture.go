package provider

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

// A capture file is a raw HTTP request (request line, header, blank line, exact
// body) whose X-Captured-At field says when it was received.

const (
	capturedAt = "X-Captured-At"
	// capturedForm is RFC 3339 to the microsecond, which is what is stored.
	capturedForm = "2006-01-02T15:04:05.000000Z07:00"
	// MaxCaptureBytes is the edge's bound of a body and a header, and some room
	// for what people add by hand.
	MaxCaptureBytes = 1<<20 + 64<<10
)

// Marks that a capture made by notifyd may carry. They are ours: none of them is
// ever copied from a request.
const (
	// MarkUnverified: the request was refused, for the reason that is the value.
	MarkUnverified = "X-Capture-Unverified"
	// MarkCut: not all of the body was kept; the value says how much.
	MarkCut = "X-Capture-Cut"
	// MarkRedacted: parts of the message were taken out; the value says what.
	MarkRedacted = "X-Capture-Redacted"
)

// Mark is one line that a capture has besides the request.
type Mark struct{ Name, Value string }

// Captured is a request read from a capture file.
type Captured struct {
	Method, Target string      // of the request line
	Header         http.Header // without X-Captured-At
	Body           []byte      // exact
	At             time.Time   // when it was received, UTC; zero: the file does not say

	// What the marks say; "" without them. A body that was cut or redacted is not
	// the one that was sent: no signature over it can hold.
	Unverified, Cut, Redacted string
}

// Account is the last part of the path: the account to which the request was sent.
func (c *Captured) Account() string {
	path, _, _ := strings.Cut(c.Target, "?")
	name := path[strings.LastIndexByte(path, '/')+1:]
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// WriteCapture writes a capture file of a request that was received at a time.
func WriteCapture(w io.Writer, c order.Capture, at time.Time, marks ...Mark) error {
	var b bytes.Buffer
	b.Grow(len(c.RequestLine) + len(c.Header) + len(c.Body) + 64)
	b.WriteString(c.RequestLine + "\r\n")
	b.Write(c.Header)
	for _, m := range marks {
		b.WriteString(m.Name + ": " + m.Value + "\r\n")
	}
	b.WriteString(capturedAt + ": " + at.UTC().Format(capturedForm) + "\r\n\r\n")
	b.Write(c.Body)
	_, err := w.Write(b.Bytes())
	return err
}

// ReadCapture reads a capture file. Lines may end in LF alone; everything after
// the blank line is the body, byte for byte. Errors are for the person who has
// the file.
func ReadCapture(r io.Reader) (Captured, error) {
	all, err := io.ReadAll(io.LimitReader(r, MaxCaptureBytes+1))
	if err != nil {
		return Captured{}, err
	}
	if len(all) > MaxCaptureBytes {
		return Captured{}, fmt.Errorf("a capture has at most %d bytes", MaxCaptureBytes)
	}
	line, rest, _ := cutLine(all)
	c := Captured{Header: http.Header{}}
	parts := strings.Split(string(line), " ")
	if len(parts) != 3 || !strings.HasPrefix(parts[1], "/") || !strings.HasPrefix(parts[2], "HTTP/") {
		return Captured{}, errors.New("the first line is not a request line like POST /notify/wechat HTTP/1.1")
	}
	c.Method, c.Target = parts[0], parts[1]
	for n := 2; ; n++ {
		field, after, found := cutLine(rest)
		if !found {
			return Captured{}, errors.New("there is no blank line between the header and the body")
		}
		if rest = after; len(field) == 0 {
			break
		}
		name, value, ok := strings.Cut(string(field), ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return Captured{}, fmt.Errorf("line %d is not a header field", n)
		}
		c.Header.Add(textproto.CanonicalMIMEHeaderKey(name), strings.Trim(value, " \t"))
	}
	c.Body = rest
	return c, c.check()
}

// check reads the time and refuses a body that is not the one which was sent:
// an editor's last newline would otherwise look like a broken signature.
func (c *Captured) check() error {
	if text := c.Header.Get(capturedAt); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return fmt.Errorf("%s is not a time like 2026-01-02T15:04:05+08:00", capturedAt)
		}
		c.At = at.UTC()
		c.Header.Del(capturedAt)
	}
	for name, into := range map[string]*string{MarkUnverified: &c.Unverified, MarkCut: &c.Cut, MarkRedacted: &c.Redacted} {
		*into = c.Header.Get(name)
		c.Header.Del(name)
	}
	if c.Header.Get("Transfer-Encoding") != "" {
		return errors.New("a capture holds the body itself: remove Transfer-Encoding and the chunk sizes")
	}
	if text := c.Header.Get("Content-Length"); text != "" && text != strconv.Itoa(len(c.Body)) {
		return fmt.Errorf("Content-Length is %s, but %d bytes follow the blank line", Clip(text, 20), len(c.Body))
	}
	return nil
}

func cutLine(b []byte) (line, rest []byte, found bool) {
	line, rest, found = bytes.Cut(b, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest, found
}
