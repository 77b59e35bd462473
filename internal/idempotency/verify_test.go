package idempotency_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
)

// Throw-away keys: two of one shop, as in a rotation, and one of another.
var keys = []idempotency.Key{
	{ID: "k1", Secret: "throw-away-1", Merchant: "default"},
	{ID: "k2", Secret: "throw-away-2", Merchant: "default"},
	{ID: "b1", Secret: "throw-away-3", Merchant: "other"},
}

var noon = time.Unix(1767225600, 500_000_000)

// request is one that is good; tests spoil it.
type request struct {
	method, uri string
	header      http.Header
	body        string
}

// signedBy makes a good request, signed at a time.
func signedBy(k idempotency.Key, at time.Time) *request {
	r := &request{method: "POST", uri: "/v1/orders?a=1&b=2", body: `{"out_trade_no":"T1","amount_fen":1000}`}
	timestamp := fmt.Sprintf("%010d", at.Unix())
	signed := idempotency.Signed{Method: r.method, URI: r.uri, Timestamp: timestamp, Key: "order-T1", Body: []byte(r.body)}
	r.header = http.Header{"X-Api-Key": {k.ID}, "X-Timestamp": {timestamp}, "X-Idempotency-Key": {"order-T1"},
		"X-Signature": {signed.Sign(k.Secret)}}
	return r
}

func verifier(t *testing.T) *idempotency.Verifier {
	t.Helper()
	v, err := idempotency.NewVerifier(keys)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (r *request) verify(v *idempotency.Verifier) (string, error) {
	return v.Verify(r.method, r.uri, r.header, []byte(r.body), noon)
}

func TestVerifySaysWhoseRequestItIs(t *testing.T) {
	v := verifier(t)
	for _, k := range keys {
		for _, away := range []time.Duration{0, -time.Second, idempotency.MaxSkew, -idempotency.MaxSkew} {
			merchant, err := signedBy(k, noon.Add(away)).verify(v)
			if err != nil || merchant != k.Merchant {
				t.Errorf("key %s, %v away: %q, %v, want %q", k.ID, away, merchant, err, k.Merchant)
			}
		}
	}
	// Without an idempotency key its line is empty, and the alias is as good.
	r := signedBy(keys[0], noon)
	r.header.Del("X-Idempotency-Key")
	if _, err := r.verify(v); err == nil {
		t.Error("an idempotency key was taken away and the signature holds")
	}
	r.header.Set("Idempotency-Key", "order-T1")
	if _, err := r.verify(v); err != nil {
		t.Errorf("the alias: %v", err)
	}
	signed := idempotency.Signed{Method: "GET", URI: "/v1/orders/T1", Timestamp: r.header.Get("X-Timestamp")}
	r = &request{method: "GET", uri: "/v1/orders/T1", header: http.Header{"X-Api-Key": {"k1"},
		"X-Timestamp": {signed.Timestamp}, "X-Signature": {signed.Sign(keys[0].Secret)}}}
	if _, err := r.verify(v); err != nil {
		t.Errorf("a read: %v", err)
	}
}

// mutant is a good request that was changed after it was signed.
type mutant struct {
	name  string
	code  idempotency.Code
	spoil func(*request)
}

func set(name, value string) func(*request) {
	return func(r *request) { r.header[name] = []string{value} }
}

func edit(name string, change func(string) string) func(*request) {
	return func(r *request) { r.header[name] = []string{change(r.header.Get(name))} }
}

func mutants() []mutant {
	all := []mutant{
		{"another method", idempotency.CodeSignature, func(r *request) { r.method = "PUT" }},
		{"the method in lower case", idempotency.CodeSignature, func(r *request) { r.method = "post" }},
		{"another key of the shop", idempotency.CodeSignature, set("X-Api-Key", "k2")},
		{"another shop's key", idempotency.CodeSignature, set("X-Api-Key", "b1")},
		{"no such key", idempotency.CodeUnknownKey, set("X-Api-Key", "k9")},
		{"a key id in capitals", idempotency.CodeUnknownKey, set("X-Api-Key", "K1")},
		{"an empty key id", idempotency.CodeUnknownKey, set("X-Api-Key", "")},
		{"two key ids in one header", idempotency.CodeUnknownKey, set("X-Api-Key", "k1, k1")},
		{"another idempotency key", idempotency.CodeSignature, set("X-Idempotency-Key", "order-T2")},
		{"the idempotency key in capitals", idempotency.CodeSignature, set("X-Idempotency-Key", "ORDER-T1")},
		{"an empty idempotency key", idempotency.CodeSignature, set("X-Idempotency-Key", "")},
		{"no idempotency key", idempotency.CodeSignature, func(r *request) { r.header.Del("X-Idempotency-Key") }},
		{"another alias alone", idempotency.CodeSignature, func(r *request) {
			r.header.Del("X-Idempotency-Key")
			r.header.Set("Idempotency-Key", "order-T2")
		}},
		{"a line moved from the URI to the key", idempotency.CodeSignature, func(r *request) {
			r.uri, r.header["X-Idempotency-Key"] = "/v1/orders", []string{"?a=1&b=2\norder-T1"}
		}},
		{"signed with an empty secret", idempotency.CodeSignature, func(r *request) { r.sign("") }},
		{"signed with the key's id", idempotency.CodeSignature, func(r *request) { r.sign("k1") }},
	}
	for i, uri := range []string{"/v1/orders", "/v1/orders?a=1&b=3", "/v1/orders?b=2&a=1", "/v1/orders?a=1&b=2&", "/v1/orders?a=1&b=2#", "/v1//orders?a=1&b=2",
		"/v1/order%73?a=1&b=2", "/V1/orders?a=1&b=2", "/v1/orders/?a=1&b=2", "http://h/v1/orders?a=1&b=2", ""} {
		all = append(all, mutant{fmt.Sprintf("URI %d", i), idempotency.CodeSignature, func(r *request) { r.uri = uri }})
	}
	for i, body := range []string{"", " ", `{"out_trade_no":"T1","amount_fen":1001}`, `{"amount_fen":1000,"out_trade_no":"T1"}`,
		`{"out_trade_no":"T1","amount_fen":1000}` + "\n", "\ufeff" + `{"out_trade_no":"T1","amount_fen":1000}`} {
		all = append(all, mutant{fmt.Sprintf("body %d", i), idempotency.CodeSignature, func(r *request) { r.body = body }})
	}
	for _, name := range []string{"X-Api-Key", "X-Timestamp", "X-Signature"} {
		all = append(all, mutant{name + " missing", idempotency.CodeHeaderMissing, func(r *request) { r.header.Del(name) }})
	}
	for _, name := range []string{"X-Api-Key", "X-Timestamp", "X-Signature", "X-Idempotency-Key"} {
		for _, second := range []string{"same", "other"} {
			all = append(all, mutant{name + " twice, " + second, idempotency.CodeHeaderDoubled, func(r *request) {
				value := r.header.Get(name)
				if second == "other" {
					value += "x"
				}
				r.header.Add(name, value)
			}})
		}
	}
	for _, timestamp := range []string{"", "176722560", "17672256000", "01767225600", "+767225600", "-767225600", "1767225 00", "1_67225600", "17672256.0",
		"0x67225600", "１767225", "1.7672256e9"} {
		all = append(all, mutant{"timestamp " + timestamp, idempotency.CodeTimestamp, set("X-Timestamp", timestamp)})
	}
	for _, away := range []int64{301, -301, 86400, -86400} {
		all = append(all, mutant{fmt.Sprintf("signed %d seconds away", away), idempotency.CodeStale, func(r *request) {
			r.header.Set("X-Timestamp", fmt.Sprintf("%010d", noon.Unix()+away))
			r.sign(keys[0].Secret)
		}})
	}
	all = append(all,
		mutant{"another time", idempotency.CodeSignature, set("X-Timestamp", fmt.Sprint(noon.Unix()+1))},
		mutant{"the first time there is", idempotency.CodeStale, set("X-Timestamp", "0000000000")},
		mutant{"an empty signature", idempotency.CodeSignature, set("X-Signature", "")},
		mutant{"a signature in capitals", idempotency.CodeSignature, edit("X-Signature", strings.ToUpper)},
		mutant{"a signature and more", idempotency.CodeSignature, edit("X-Signature", func(s string) string { return s + "00" })},
		mutant{"half a signature", idempotency.CodeSignature, edit("X-Signature", func(s string) string { return s[:32] })},
		mutant{"a signature with a prefix", idempotency.CodeSignature, edit("X-Signature", func(s string) string { return "v1," + s })},
	)
	for i := range 8 { // one bit of it at a time
		all = append(all, mutant{fmt.Sprintf("digit %d of the signature", i*8), idempotency.CodeSignature, edit("X-Signature", func(s string) string {
			b := []byte(s)
			b[i*8] ^= 1
			return string(b)
		})})
	}
	return all
}

func (r *request) sign(secret idempotency.Secret) {
	r.header.Set("X-Signature", idempotency.Signed{Method: r.method, URI: r.uri, Timestamp: r.header.Get("X-Timestamp"),
		Key: r.header.Get("X-Idempotency-Key"), Body: []byte(r.body)}.Sign(secret))
}

func TestVerifyRefusesMutants(t *testing.T) {
	v := verifier(t)
	all := mutants()
	if len(all) < 50 {
		t.Errorf("only %d mutants", len(all))
	}
	seen := map[idempotency.Code]bool{}
	for _, m := range all {
		r := signedBy(keys[0], noon)
		m.spoil(r)
		merchant, err := r.verify(v)
		var refusal *idempotency.Refusal
		switch {
		case merchant != "" || !errors.Is(err, idempotency.ErrUnproven) || !errors.As(err, &refusal):
			t.Errorf("%s: %q, %v, want ErrUnproven", m.name, merchant, err)
		case refusal.Code != m.code:
			t.Errorf("%s: %s, want %s", m.name, refusal.Code, m.code)
		case err.Error() != idempotency.ErrUnproven.Error():
			t.Errorf("%s is told apart: %v", m.name, err)
		default:
			seen[refusal.Code] = true
		}
	}
	for _, code := range idempotency.Codes() {
		if !seen[code] {
			t.Errorf("no mutant is refused as %s", code)
		}
	}
}

// Nobody can know which of two keys was meant, but who sent them is proven.
func TestVerifyProvesTheSenderOfTwoKeys(t *testing.T) {
	v := verifier(t)
	for _, signed := range []string{"order-T1", "order-T2", "order-T3"} {
		r := signedBy(keys[0], noon)
		r.header.Set("X-Idempotency-Key", signed)
		r.sign(keys[0].Secret)
		r.header["X-Idempotency-Key"], r.header["Idempotency-Key"] = []string{"order-T1"}, []string{"order-T2"}
		if _, err := r.verify(v); (err == nil) != (signed != "order-T3") {
			t.Errorf("signed with %s: %v", signed, err)
		}
		if _, err := idempotency.KeyOf(r.header); !errors.Is(err, idempotency.ErrKeyAmbiguous) {
			t.Errorf("KeyOf: %v, want ErrKeyAmbiguous", err)
		}
	}
}

func TestNewVerifierRefusesUnsafeKeys(t *testing.T) {
	good := keys[0]
	for name, bad := range map[string]idempotency.Key{
		"no id":                {Secret: "s", Merchant: "default"},
		"no secret":            {ID: "k9", Merchant: "default"},
		"no merchant":          {ID: "k9", Secret: "s"},
		"the same id":          {ID: "k1", Secret: "s", Merchant: "other"},
		"the same secret":      {ID: "k9", Secret: good.Secret, Merchant: "default"},
		"another's own key":    {ID: "k1", Secret: good.Secret, Merchant: "other"},
		"another's own secret": {ID: "k9", Secret: good.Secret, Merchant: "other"},
	} {
		if _, err := idempotency.NewVerifier([]idempotency.Key{good, bad}); err == nil {
			t.Errorf("%s: is taken", name)
		}
	}
	none, err := idempotency.NewVerifier(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signedBy(good, noon).verify(none); !errors.Is(err, idempotency.ErrUnproven) {
		t.Errorf("without keys: %v, want ErrUnproven", err)
	}
}
