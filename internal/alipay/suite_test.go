package alipay

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
	"github.com/notifyd/notifyd/internal/provider/providertest"
)

func TestAdapterPassesTheSuite(t *testing.T) { providertest.Run(t, kit(t)) }

func kit(t *testing.T) providertest.Kit {
	a := newAdapter(t)
	twinEnv := env(keyFiles())
	twinEnv.Account = "alipay-renamed"
	twin, err := New(options(), twinEnv)
	if err != nil {
		t.Fatal(err)
	}
	foreign := newAdapter(t, func(o *Options) {
		o.AppID, o.SellerID, o.AuthAppIDs = "2021000000000009", "", nil
		o.PublicKeys = []KeyFile{{"stranger.pem"}}
	})

	genuine := map[string]providertest.Genuine{}
	add := func(name string, f, again forge.Form) {
		r, second := sign(f), sign(again)
		_, value, _ := bytes.Cut(r.Body, []byte("&sign="))
		genuine[name] = providertest.Genuine{
			Request: r, Again: &second,
			Proof: []providertest.Part{{Body: "&sign=" + string(value), Value: string(value)}},
		}
	}
	later := func(f forge.Form) forge.Form {
		return f.With("notify_id", "another").With("notify_time", "2026-01-02 12:00:00")
	}
	for name, f := range maps.All(genuineForms()) {
		add(name, f, later(f))
	}
	message := forge.AlipayMessage{AppID: appID, Method: "alipay.trade.settle.success", NotifyID: "m1", SentAt: noon, BizContent: `{"a":1}`}
	again := message
	again.NotifyID, again.SentAt = "m2", noon.Add(time.Hour)
	add("message", message.Form(), again.Form())

	return providertest.Kit{
		Provider: a, Env: a.env, Twin: twin, Foreign: foreign, Genuine: genuine,
		Secrets: []string{aesKey, "canarycanary1234", "2088000000000009", "绿茶 100%", "token-canary-1"},
	}
}

// sabotaged is an adapter with one fault.
type sabotaged struct {
	provider.Provider
	parse func(provider.Request, order.Notification, error) (order.Notification, error)
	ack   func(error, provider.Answer) provider.Answer
	keys  []provider.KeyInfo
}

func (s sabotaged) Parse(req provider.Request) (order.Notification, error) {
	n, err := s.Provider.Parse(req)
	if s.parse != nil {
		return s.parse(req, n, err)
	}
	return n, err
}

func (s sabotaged) Ack(req provider.Request, err error) provider.Answer {
	answer := s.Provider.Ack(req, err)
	if s.ack != nil {
		return s.ack(err, answer)
	}
	return answer
}

func (s sabotaged) Keys() []provider.KeyInfo { return append(s.Provider.Keys(), s.keys...) }

// sabotages are faults that the suite must catch, by name.
func sabotages() map[string]sabotaged {
	onRefusal := func(change func(provider.Request, error) error) func(provider.Request, order.Notification, error) (order.Notification, error) {
		return func(req provider.Request, n order.Notification, err error) (order.Notification, error) {
			if err != nil {
				err = change(req, err)
			}
			return n, err
		}
	}
	calls := 0
	return map[string]sabotaged{
		"accepts what is not signed": {parse: func(req provider.Request, n order.Notification, err error) (order.Notification, error) {
			if provider.Code(err) == codeNoSignature {
				return order.Notification{Provider: providerName, Facts: []order.Fact{{}}}, nil
			}
			return n, err
		}},
		"says a secret":     {parse: onRefusal(func(_ provider.Request, err error) error { return provider.Refuse(err, "x", "key %s", aesKey) })},
		"says the header":   {parse: onRefusal(func(r provider.Request, err error) error { return provider.Refuse(err, "x", "%v", r.Header) })},
		"says the body":     {parse: onRefusal(func(r provider.Request, err error) error { return provider.Refuse(err, "x", "%s", r.Body) })},
		"has its own error": {parse: onRefusal(func(provider.Request, error) error { return errors.New("no") })},
		"has no code":       {parse: onRefusal(func(_ provider.Request, err error) error { return errors.Unwrap(err) })},
		"changes the body": {parse: func(req provider.Request, n order.Notification, err error) (order.Notification, error) {
			if len(req.Body) > 0 {
				req.Body[0] ^= 1
			}
			return n, err
		}},
		"names the account": {parse: func(_ provider.Request, n order.Notification, err error) (order.Notification, error) {
			n.Distinct = []byte(n.Account + n.ProviderID)
			return n, err
		}},
		"is not the same twice": {parse: func(_ provider.Request, n order.Notification, err error) (order.Notification, error) {
			calls++
			n.ProviderID = forge.Yuan(int64(calls))
			return n, err
		}},
		"answers 200":       {ack: func(_ error, a provider.Answer) provider.Answer { a.Status = 200; return a }},
		"says why":          {ack: func(err error, a provider.Answer) provider.Answer { a.Body = []byte(provider.Code(err)); return a }},
		"always says yes":   {ack: func(_ error, a provider.Answer) provider.Answer { a.Body = []byte("success"); return a }},
		"shows its own key": {keys: []provider.KeyInfo{{ID: aesKey, Kind: "aes key"}}},
	}
}

const sabotageVariable = "NOTIFYD_TEST_SABOTAGE"

// The suite itself is tested: each of these faults makes it fail. It runs in a
// process of its own, because a failed test cannot be taken back.
func TestTheSuiteCatchesFaults(t *testing.T) {
	all := sabotages()
	if name := os.Getenv(sabotageVariable); name != "" {
		k := kit(t)
		s := all[name]
		s.Provider = k.Provider
		k.Provider = s
		if name == "names the account" {
			twin := s
			twin.Provider = k.Twin
			k.Twin = twin
		}
		providertest.Run(t, k)
		return
	}
	for name := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := exec.Command(os.Args[0], "-test.run=^TestTheSuiteCatchesFaults$")
			run.Env = append(os.Environ(), sabotageVariable+"="+name)
			out, err := run.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !bytes.Contains(out, []byte("--- FAIL: TestTheSuiteCatchesFaults")) || bytes.Contains(out, []byte("panic:")) {
				t.Errorf("the suite let it pass: %v\n%.2000s", err, out)
			}
		})
	}
}
