package provider

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
)

func TestCaptureComesBackAsItWas(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 4, 0, 0, 123456000, time.UTC)
	body := []byte("\r\n\r\n\x00\xff a: b\n")
	var file bytes.Buffer
	err := WriteCapture(&file, order.Capture{RequestLine: "POST /notify/wechat HTTP/1.1",
		Header: []byte("Wechatpay-Serial: 7D4B\r\nWechatpay-Serial: 7D4C\r\nContent-Length: 12\r\n"), Body: body}, at)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadCapture(&file)
	if err != nil {
		t.Fatal(err)
	}
	want := Captured{Method: "POST", Target: "/notify/wechat", Body: body, At: at,
		Header: http.Header{"Wechatpay-Serial": {"7D4B", "7D4C"}, "Content-Length": {"12"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadCapture(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, account, body, fault string }{
		"lines end in LF":          {"POST /notify/a HTTP/1.1\nX: y\n\nbody", "a", "body", ""},
		"no header":                {"POST /notify/a HTTP/1.1\n\n", "a", "", ""},
		"behind a proxy's prefix":  {"POST /pay/notify/a%20b?x=/y HTTP/1.1\n\n", "a b", "", ""},
		"length says so":           {"POST /notify/a HTTP/1.1\nContent-Length: 4\n\nbody", "a", "body", ""},
		"an editor's last newline": {"POST /notify/a HTTP/1.1\nContent-Length: 4\n\nbody\n", "", "", "5 bytes follow"},
		"chunks":                   {"POST /notify/a HTTP/1.1\nTransfer-Encoding: chunked\n\n0\r\n\r\n", "", "", "Transfer-Encoding"},
		"bad time":                 {"POST /notify/a HTTP/1.1\nX-Captured-At: noon\n\n", "", "", "X-Captured-At"},
		"no blank line":            {"POST /notify/a HTTP/1.1\nX: y\n", "", "", "blank line"},
		"nothing":                  {"", "", "", "request line"},
		"an answer":                {"HTTP/1.1 200 OK\n\n", "", "", "request line"},
		"a body alone":             {"<xml></xml>", "", "", "request line"},
		"no field":                 {"POST /notify/a HTTP/1.1\nX y\n\n", "", "", "line 2"},
		"a continued field":        {"POST /notify/a HTTP/1.1\nX: y\n z: a\n\n", "", "", "line 3"},
		"too large":                {"POST /notify/a HTTP/1.1\n\n" + strings.Repeat("x", MaxCaptureBytes), "", "", "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadCapture(strings.NewReader(c.file))
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("got %v, want an error about %q", err, c.fault)
				}
				return
			}
			if err != nil || got.Account() != c.account || string(got.Body) != c.body {
				t.Errorf("account %q, body %q, %v", got.Account(), got.Body, err)
			}
		})
	}
}

// Whatever is read can be written and read again.
func FuzzReadCapture(f *testing.F) {
	f.Add([]byte("POST /notify/a HTTP/1.1\r\nX: y\r\nX-Captured-At: 2026-01-01T12:00:00.5+08:00\r\n\r\nbody"))
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := ReadCapture(bytes.NewReader(file))
		if err != nil {
			return
		}
		var header, again bytes.Buffer
		for name, values := range c.Header {
			for _, v := range values {
				header.WriteString(name + ": " + v + "\r\n")
			}
		}
		at := c.At.Truncate(time.Microsecond)
		if err := WriteCapture(&again, order.Capture{RequestLine: c.Method + " " + c.Target + " HTTP/1.1", Header: header.Bytes(), Body: c.Body}, at); err != nil {
			t.Fatal(err)
		}
		got, err := ReadCapture(&again)
		if again.Len() == 0 && err != nil && len(file) > MaxCaptureBytes/2 {
			return // our own fields pushed it over the bound
		}
		if err != nil || !bytes.Equal(got.Body, c.Body) || got.Target != c.Target || !got.At.Equal(at) {
			t.Errorf("%+v came back as %+v, %v", c, got, err)
		}
	})
}

// What a capture says about itself is no part of the request.
func TestCaptureMarks(t *testing.T) {
	var file bytes.Buffer
	c := order.Capture{RequestLine: "POST /notify/a HTTP/1.1", Header: []byte("Host: pay\r\nContent-Length: 3\r\n"), Body: []byte("a=1")}
	at := time.Date(2026, 1, 1, 4, 0, 0, 123456000, time.UTC)
	err := WriteCapture(&file, c, at, Mark{MarkUnverified, "wx.signature"}, Mark{MarkCut, "3 of 9 bytes"}, Mark{MarkRedacted, "openid"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadCapture(&file)
	if err != nil {
		t.Fatal(err)
	}
	if got.Unverified != "wx.signature" || got.Cut != "3 of 9 bytes" || got.Redacted != "openid" || !got.At.Equal(at) {
		t.Errorf("marks %q %q %q at %v", got.Unverified, got.Cut, got.Redacted, got.At)
	}
	if len(got.Header) != 2 || got.Header.Get("Host") != "pay" || string(got.Body) != "a=1" {
		t.Errorf("the request is %v %q", got.Header, got.Body)
	}
}
