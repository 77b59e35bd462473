package idempotency_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/idempotency"
)

// vector is one fixed request and its signature, as whoever writes a client in
// another language checks it.
type vector struct {
	Name, Secret, Method, URI, Timestamp, Key, Body, Signature string
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("../../testdata/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 {
		t.Fatalf("%d vectors: %v", len(all), err)
	}
	return all
}

func (v vector) signed() idempotency.Signed {
	return idempotency.Signed{Method: v.Method, URI: v.URI, Timestamp: v.Timestamp, Key: v.Key, Body: []byte(v.Body)}
}

func TestSignatureVectors(t *testing.T) {
	for _, v := range vectors(t) {
		if got := v.signed().Sign(idempotency.Secret(v.Secret)); got != v.Signature {
			t.Errorf("%s: %s, want %s", v.Name, got, v.Signature)
		}
	}
}

// The same signatures by code that shares nothing with ours.
var signers = map[string][]string{
	"python3": {"-c", `
import hashlib, hmac, json, sys
for v in json.load(sys.stdin.buffer):
    hashed = hashlib.sha256(v["body"].encode()).hexdigest()
    text = "\n".join([v["method"], v["uri"], v["timestamp"], v["key"], hashed])
    print(hmac.new(v["secret"].encode(), text.encode(), hashlib.sha256).hexdigest())
`},
	"node": {"-e", `
const crypto = require("crypto")
for (const v of JSON.parse(require("fs").readFileSync(0))) {
  const hashed = crypto.createHash("sha256").update(v.body).digest("hex")
  const text = [v.method, v.uri, v.timestamp, v.key, hashed].join("\n")
  console.log(crypto.createHmac("sha256", v.secret).update(text).digest("hex"))
}
`},
}

func TestSignatureVectorsInOtherLanguages(t *testing.T) {
	all := vectors(t)
	input, err := json.Marshal(lowered(all))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for name, args := range signers {
		program, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		ran++
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Stdin = bytes.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		got := strings.Fields(string(out))
		want := make([]string, len(all))
		for i, v := range all {
			want[i] = v.Signature
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s signs\n%v, want\n%v", name, got, want)
		}
	}
	if ran == 0 {
		t.Fatal("neither python3 nor node is here: install one, so that somebody else's code signs, too")
	}
}

// lowered names the fields as the file does.
func lowered(all []vector) []map[string]string {
	var list []map[string]string
	for _, v := range all {
		list = append(list, map[string]string{"secret": v.Secret, "method": v.Method, "uri": v.URI, "timestamp": v.Timestamp, "key": v.Key, "body": v.Body})
	}
	return list
}

// What the document shows is the first vector, to the letter.
func TestSignatureIsDocumented(t *testing.T) {
	document, err := os.ReadFile("../../docs/signed-requests.md")
	if err != nil {
		t.Fatal(err)
	}
	v := vectors(t)[0]
	for _, code := range idempotency.Codes() {
		if !strings.Contains(string(document), "| `"+string(code)+"` |") {
			t.Errorf("docs/signed-requests.md does not explain %s", code)
		}
	}
	for _, want := range []string{"```text\n" + v.signed().Text() + "\n```", v.Secret, v.Body, v.Signature} {
		if !strings.Contains(string(document), want) {
			t.Errorf("docs/signed-requests.md does not say\n%s", want)
		}
	}
}

func TestSecretsOfKeysPrintAsMask(t *testing.T) {
	const canary = "canary-7f3a"
	key := idempotency.Key{ID: "k1", Secret: canary, Merchant: "default"}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "key", key, "secret", key.Secret)
	slog.New(slog.NewTextHandler(&log, nil)).Info("key", "key", key, "secret", key.Secret)
	marshalled, err := json.Marshal([]any{key, key.Secret})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%v %+v %#v %s %q %x %d", key, key, key, key.Secret, key.Secret, key.Secret, key.Secret) +
		key.Secret.String() + key.Secret.GoString() + log.String() + string(marshalled)
	if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
		t.Errorf("a secret is printed: %s", text)
	}
	if !strings.Contains(text, "***") {
		t.Errorf("no mask is printed: %s", text)
	}
	if _, err := idempotency.NewVerifier([]idempotency.Key{key, {ID: "k2", Secret: canary, Merchant: "other"}}); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("one secret under two ids: %v", err)
	}
}
