// Package providertest is the suite that every adapter must pass: what is
// genuine is understood, what was touched is refused with one answer for every
// cause, nothing secret leaks and nothing panics.
//
// It imports provider, order and the standard library, and is imported by tests
// only.
package providertest

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// Kit is what an adapter's test gives to the suite.
type Kit struct {
	// Provider is the adapter under test, made for Env.
	Provider provider.Provider
	Env      provider.Env
	// Twin is the adapter with the same options under another account name. Its
	// notifications are copies of the Provider's.
	Twin provider.Provider
	// Foreign is another merchant's account with other keys: every genuine
	// request must be refused there.
	Foreign provider.Provider

	// Genuine holds requests that must verify, by name.
	Genuine map[string]Genuine
	// Secrets are the texts, at least 8 bytes each, that no error, answer or
	// key description may hold: the keys and passwords of the options and the
	// personal data of the requests.
	Secrets []string
	// KeyIDHeaders are the headers whose value is a key id and may therefore be
	// named in an error.
	KeyIDHeaders []string
}

// Genuine is a request that must verify.
type Genuine struct {
	Request provider.Request
	// Again is the same message when it is sent again, with another id, time or
	// signature where the provider changes them; it must be a copy. Optional.
	Again *provider.Request
	// Proof lists the parts that prove the message.
	Proof []Part
	// Unsigned marks messages that are only encrypted: a mutation that happens
	// to be accepted may then say something else.
	Unsigned bool
}

// Part is a piece of a request without which it must not verify: a header, or a
// piece of the body that occurs once, with the value inside it.
type Part struct {
	Header string
	Body   string // "&sign=abc"
	Value  string // "abc"
}

// Run runs the suite.
func Run(t *testing.T, kit Kit) {
	t.Helper()
	kit.check(t)
	for _, name := range slices.Sorted(maps.Keys(kit.Genuine)) {
		g := kit.Genuine[name]
		t.Run(name, func(t *testing.T) {
			t.Run("understood", func(t *testing.T) { understood(t, kit, g) })
			t.Run("same every time", func(t *testing.T) { sameEveryTime(t, kit, g) })
			t.Run("fact key", func(t *testing.T) { factKey(t, kit, g) })
			t.Run("touched", func(t *testing.T) { touched(t, kit, g) })
			t.Run("mutations", func(t *testing.T) { mutations(t, kit, name, g) })
			t.Run("answers", func(t *testing.T) { answers(t, kit, g) })
			t.Run("examined", func(t *testing.T) { examined(t, kit, g) })
		})
	}
	t.Run("identity and keys", func(t *testing.T) { identityAndKeys(t, kit) })
	t.Run("nothing at all", func(t *testing.T) { nothingAtAll(t, kit) })
}

// check refuses a kit that would make the suite pass without asking anything.
func (kit Kit) check(t *testing.T) {
	t.Helper()
	if kit.Provider == nil || kit.Twin == nil || kit.Foreign == nil || kit.Env.Account == "" || kit.Env.Merchant == "" {
		t.Fatal("kit: Provider, Env, Twin and Foreign must be set")
	}
	if len(kit.Genuine) == 0 || len(kit.Secrets) == 0 {
		t.Fatal("kit: give at least one genuine request and one secret")
	}
	for _, s := range kit.Secrets {
		if len(s) < 8 {
			t.Fatal("kit: a secret shorter than 8 bytes can turn up by chance")
		}
	}
	for name, g := range kit.Genuine {
		if len(g.Proof) == 0 {
			t.Fatalf("kit: %s has no parts that prove it", name)
		}
		for _, p := range g.Proof {
			p.check(t, g.Request)
		}
	}
}

// isRefusal says whether err is one of the errors that Parse may return, with a
// reason code.
func isRefusal(err error) bool {
	classes := []error{provider.ErrMalformed, provider.ErrSignature, provider.ErrForeign, provider.ErrUnavailable}
	known := slices.ContainsFunc(classes, func(class error) bool { return errors.Is(err, class) })
	return known && provider.Code(err) != ""
}

// notProven says whether err means 401.
func notProven(err error) bool {
	return isRefusal(err) && provider.Status(err) == http.StatusUnauthorized
}

// understood: a genuine request gives a whole notification.
func understood(t *testing.T, kit Kit, g Genuine) {
	n, err := kit.Provider.Parse(g.Request)
	if err != nil {
		t.Fatalf("a genuine request was refused: %v", err)
	}
	if n.Provider == "" || n.Account != kit.Env.Account || n.Merchant != kit.Env.Merchant {
		t.Errorf("provider %q account %q merchant %q, want account %q merchant %q", n.Provider, n.Account, n.Merchant, kit.Env.Account, kit.Env.Merchant)
	}
	if n.Scope == "" {
		t.Error("no scope: the provider's number of the account is missing")
	}
	if !slices.Contains(order.Kinds(), n.Kind) {
		t.Errorf("kind %q is none of the known ones", n.Kind)
	}
	if len(n.Facts) == 0 {
		t.Fatal("no fact")
	}
	for i := range n.Facts {
		wellFormed(t, kit, &n, &n.Facts[i])
	}
}

// wellFormed checks what holds for every fact of every provider.
func wellFormed(t *testing.T, kit Kit, n *order.Notification, f *order.Fact) {
	if !slices.Contains(order.Kinds(), f.Kind) {
		t.Errorf("fact: kind %q is none of the known ones", f.Kind)
	}
	if f.Provider != n.Provider || f.Account != n.Account {
		t.Errorf("fact: provider %q account %q, the notification has %q %q", f.Provider, f.Account, n.Provider, n.Account)
	}
	want := kit.Env.Merchant
	if f.SubMerchant != "" {
		want += "/" + f.SubMerchant
	}
	if f.Merchant != want {
		t.Errorf("fact: merchant %q, want %q", f.Merchant, want)
	}
	if f.Conflict != order.ReasonNone {
		if n.Distinct == nil {
			t.Error("a conflict as a whole needs Distinct to be told from others")
		}
		return
	}
	if !f.Kind.Moves() {
		return
	}
	if f.OutTradeNo == "" || f.ProviderTxnID == "" {
		t.Errorf("fact %s names order %q and transaction %q: both are needed to move anything", f.Kind, f.OutTradeNo, f.ProviderTxnID)
	}
	if f.Kind == order.KindPaid && !f.Implied && f.AmountFen <= 0 {
		t.Errorf("fact paid: amount %d fen", f.AmountFen)
	}
	if f.Kind == order.KindRefund && f.AmountFen <= 0 && f.RunningTotalFen <= 0 {
		t.Error("fact refund: neither an amount nor a running total")
	}
}
