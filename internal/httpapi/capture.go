package httpapi

import (
	"bytes"
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
	var header bytes.Buffer
	if r.Host != "" {
		// It decides nothing, but HTTP/1.1 is no request without it.
		header.WriteString("Host: " + r.Host + "\r\n")
	}
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		if kept(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range r.Header[name] {
			header.WriteString(name + ": " + value + "\r\n")
		}
	}
	// Said anew, so that a body that came in chunks can be sent from the capture.
	header.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	return order.Capture{
		RequestLine: r.Method + " " + r.URL.EscapedPath() + " " + r.Proto,
		Header:      header.Bytes(),
		Body:        body,
	}
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
