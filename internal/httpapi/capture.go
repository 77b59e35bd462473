package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/notifyd/notifyd/internal/order"
)

// capture keeps of a request what replay and diagnosis need: the line, some
// header fields and the exact body. The path is written out of our own routing
// and the query string is left away: it takes part in nothing, and strangers
// can put anything there.
func capture(r *http.Request, body []byte) order.Capture { return captureOf(r, body, kept) }

func captureOf(r *http.Request, body []byte, kept func(name string) bool) order.Capture {
	// Said anew, so that a body that came in chunks can be sent from the capture.
	length := strconv.Itoa(len(body))
	var room [16]string // of fields that providers send, so that listing them costs no memory
	names := room[:0]
	size := fieldSize("Host", r.Host) + fieldSize("Content-Length", length)
	for name, values := range r.Header {
		if kept(name) {
			names = append(names, name)
			for _, value := range values {
				size += fieldSize(name, value)
			}
		}
	}
	slices.Sort(names)
	header := make([]byte, 0, size)
	if r.Host != "" {
		// It decides nothing, but HTTP/1.1 is no request without it.
		header = appendField(header, "Host", r.Host)
	}
	for _, name := range names {
		for _, value := range r.Header[name] {
			header = appendField(header, name, value)
		}
	}
	return order.Capture{
		RequestLine: r.Method + " " + r.URL.EscapedPath() + " " + r.Proto,
		Header:      appendField(header, "Content-Length", length),
		Body:        body,
	}
}

func fieldSize(name, value string) int { return len(name) + len(": ") + len(value) + len("\r\n") }

func appendField(header []byte, name, value string) []byte {
	return append(append(append(append(header, name...), ": "...), value...), "\r\n"...)
}

// kept is the list of header fields that a capture holds; names are canonical.
// Cookies and credentials never stand in it.
func kept(name string) bool {
	switch name {
	case "Content-Type", "User-Agent", "Request-Id":
		return true
	}
	return strings.HasPrefix(name, "Wechatpay-")
}
