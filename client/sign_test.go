package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client"
)

// vector is a request whose signature is written down. Source:
// testdata/signatures.json, which the server's own tests and other languages read.
type vector struct{ Name, Secret, Method, URI, Timestamp, Key, Body, Signature string }

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("../testdata/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 {
		t.Fatalf("%d vectors: %v", len(all), err)
	}
	return all
}

func TestSignatureVectors(t *testing.T) {
	for _, v := range vectors(t) {
		r, err := http.NewRequestWithContext(t.Context(), v.Method, baseURL+v.URI, strings.NewReader(v.Body))
		if err != nil {
			t.Fatal(err)
		}
		if v.Key != "" {
			r.Header.Set(client.HeaderIdempotencyKey, v.Key)
		}
		seconds, err := strconv.ParseInt(v.Timestamp, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		client.Sign(r, "k1", v.Secret, []byte(v.Body), time.Unix(seconds, 0))
		if got := r.Header.Get(client.HeaderSignature); got != v.Signature {
			t.Errorf("%s: %s, want %s", v.Name, got, v.Signature)
		}
		if r.Header.Get(client.HeaderTimestamp) != v.Timestamp || r.Header.Get(client.HeaderAPIKey) != "k1" {
			t.Errorf("%s: %v", v.Name, r.Header)
		}
	}
}

// What docs/merchant-api.md does with curl and openssl is what it says.
func TestTheShellSignsToo(t *testing.T) {
	for _, program := range []string{"bash", "curl", "openssl"} {
		if _, found := interpreter(t, program); !found {
			return
		}
	}
	text, err := os.ReadFile("../docs/merchant-api.md")
	if err != nil {
		t.Fatal(err)
	}
	script := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(text)
	if script == nil {
		t.Fatal("docs/merchant-api.md has no block sh")
	}
	var mu sync.Mutex
	var said []string
	notifyd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the signature tells
		got := r.Header.Get("X-Signature")
		again, err := http.NewRequestWithContext(r.Context(), r.Method, baseURL+r.RequestURI, nil)
		if err != nil {
			t.Error(err)
			return
		}
		again.Header.Set(client.HeaderIdempotencyKey, r.Header.Get(client.HeaderIdempotencyKey))
		at, _ := strconv.ParseInt(r.Header.Get(client.HeaderTimestamp), 10, 64) // the signature tells
		client.Sign(again, "k1", "throw-away-secret-for-tests-only", body, time.Unix(at, 0))
		mu.Lock()
		defer mu.Unlock()
		said = append(said, fmt.Sprint(r.Method, " ", r.RequestURI, " ", again.Header.Get(client.HeaderSignature) == got, " ", r.Header.Get(client.HeaderAPIKey)))
		_, _ = io.WriteString(w, "\n") // the script's output is not looked at
	}))
	defer notifyd.Close()
	run := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c",
		strings.Replace(string(script[1]), "NOTIFYD=http://127.0.0.1:8081", "NOTIFYD="+notifyd.URL, 1))
	run.Stderr = t.Output()
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	if want := vectors(t)[0].Signature; first != want || !strings.Contains(string(text), "`"+want+"`") {
		t.Errorf("it prints %s, the vector is %s", first, want)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{"POST /v1/orders true k1", "GET /v1/orders/T1001 true k1", "POST /v1/orders/T1001/cancel true k1", "GET /v1/events?after=0&wait=1s true k1"}
	if !slices.Equal(said, want) {
		t.Errorf("it sends %q", said)
	}
}
