package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// announce sends the header of a notification whose body never comes, and says
// what was answered.
func (r *served) announce(t *testing.T, path string, bytes int) int {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.public, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: pay.example.com\r\nContent-Length: %d\r\n\r\n", path, bytes); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// What a server refused and kept, verify refuses by the same code. Of what it kept
// in part, or what was redacted, verify says nothing: it is another message, and
// every mistake that it looked like would be invented.
func TestVerifyOfWhatWasKept(t *testing.T) {
	s := refusedShop(t, "")
	r := s.serve(t)
	genuine := paid("T1", forge.AlipayKey)
	whole := map[string]string{
		"ali.signature":       paid("T1", forge.StrangerKey),
		"ali.no_signature":    "app_id=2021000000000001",
		"ali.form_syntax":     "%zz",
		"ali.duplicate_field": genuine + "&app_id=2021000000000001",
		"ali.plus_lost":       strings.Replace(genuine, "&sign=", "&sign=%20", 1),
	}
	for code, body := range whole {
		if status, _ := get(t, "POST", r.public+"/notify/alipay", body); status/100 != 4 {
			t.Fatalf("%s: %d", code, status)
		}
	}
	const more = 70 << 10 // than is kept of one
	if status, _ := get(t, "POST", r.public+"/notify/alipay", genuine+"&attached="+strings.Repeat("x", more)); status != http.StatusUnauthorized {
		t.Fatal(status)
	}
	if status := r.announce(t, "/notify/alipay", 2<<20); status != http.StatusRequestEntityTooLarge {
		t.Fatal(status)
	}
	r.stop(t) // which writes what waits
	r = s.serve(t)
	files, seen := map[string]string{}, map[string]bool{}
	for _, n := range r.refused(t, s) {
		files[n.ID] = filepath.Join(s.dir, n.ID+".http")
		if code, _, said := r.admin(s, "notifications", "export", n.ID, "--out", files[n.ID]); code != exitDone {
			t.Fatal(said)
		}
		seen[fmt.Sprint(n.Code, " ", n.Truncated)] = true
		code, out, said := runIn("verify", "--json", "--config", s.file, files[n.ID])
		if n.Truncated {
			if code != exitUsage || out != "" || !strings.Contains(said, "a part of its body only") || !strings.Contains(said, "notifyd help "+n.Code) {
				t.Errorf("%s, of which a part was kept: exit code %d\n%s%s", n.Code, code, out, said)
			}
			continue
		}
		var got verified
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitRefused || *got.Code != n.Code || n.Detail != nil && *got.Detail != *n.Detail {
			t.Errorf("the server said %s, verify exit code %d: %s%s", n.Code, code, out, said)
		}
	}
	for code := range whole {
		if !seen[code+" false"] {
			t.Errorf("%s was not looked at: %v", code, seen)
		}
	}
	if !seen["ali.signature true"] || !seen["edge.too_large true"] {
		t.Errorf("nothing that was kept in part was looked at: %v", seen)
	}
}
