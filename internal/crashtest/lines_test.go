package crashtest

import (
	"bufio"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"
	"unicode"
)

// T22: whatever stands in a header, each request is one line of JSON, none of
// whose texts could look like another line or move a cursor.
func TestT22LogLines(t *testing.T) {
	p := newShop(t, "sqlite:n.db", "").start(t)
	hostile := []string{"\x1b[31mred", "a\tb", "nul\x00nul", "feed\x0cfeed", `{"msg":"forged"}`, "\u2028line", "\u202ereversed", "\xff\xfe",
		strings.Repeat("x", 8000), `"},{"level":"ERROR"`, "\u0085next", "\xc2\x9b31mred"}
	sent := 0
	for _, text := range hostile {
		for _, header := range []string{"X-Forwarded-For", "Request-Id", "Wechatpay-Serial", "Wechatpay-Signature", "Wechatpay-Timestamp", "User-Agent"} {
			if a := p.sendHeader(t, header, text); a.err != nil {
				t.Errorf("%s %q: %v", header, text, a.err)
			} else if !strings.HasPrefix(a.body, "400 Bad Request") { // HTTP itself takes no such value
				sent++
			}
		}
	}
	p.stop(t)
	lines := 0
	for line := range strings.Lines(p.said()) {
		if strings.HasPrefix(line, "notifyd ready ") {
			continue
		}
		const most = 2048 // a few claims, each cut at 256 bytes
		if len(line) > most {
			t.Errorf("a line of %d bytes: %q", len(line), line[:most])
		}
		var attrs map[string]any
		if err := json.Unmarshal([]byte(line), &attrs); err != nil {
			t.Errorf("no line of JSON: %v: %q", err, line)
		}
		for name, value := range attrs {
			if text, ok := value.(string); ok && strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s holds what does not print: %q", name, text)
			}
		}
		if attrs["msg"] == "notification" {
			lines++
		}
	}
	if lines != sent || sent < 30 {
		t.Errorf("%d lines for %d notifications", lines, sent)
	}
}

// sendHeader sends a message with one header field as it is: a client that
// checks what it sends would not.
func (p *instance) sendHeader(t *testing.T, header, value string) answer {
	t.Helper()
	host := strings.TrimPrefix(p.public, "http://")
	m := payment{v3, "H1", 1}.message(time.Now())
	m.Header.Del(header)
	m.Header.Set("Connection", "close")
	text := strings.Replace(string(wire(m, host, v3.path())), "\r\n\r\n", "\r\n"+header+": "+value+"\r\n\r\n", 1)
	conn, err := net.DialTimeout("tcp", host, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(soon())
	if _, err := conn.Write([]byte(text)); err != nil {
		return answer{err: err}
	}
	return readAnswer(bufio.NewReader(conn))
}
