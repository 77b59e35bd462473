package doctor

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider/mend"
)

const day = 24 * time.Hour

// Providers offer the next key about a month before the present one ends: then
// there is time, a week before its end it is due, and on the last day somebody
// has to get up.
const (
	keyEndsSoon  = 30 * day
	keyIsDue     = 7 * day
	keyEndsToday = day
)

func (x *examination) keys(context.Context) {
	for _, a := range x.Accounts {
		for _, fault := range a.Faults {
			x.fail(KeysRead, a.Name, "take the key that the provider's console offers for verifying; see docs/configuration.md", "%s", fault)
		}
		if a.Provider == nil {
			x.skip(KeysExpiry, a.Name, "the account cannot be used as it is configured")
			x.ownKeys(a)
			continue
		}
		var names []string
		for _, k := range a.Provider.Keys() {
			names = append(names, strings.TrimSpace(k.Kind+" "+k.ID))
		}
		x.ok(KeysRead, a.Name, "loaded: %s", strings.Join(names, ", "))
		x.expiry(a)
		x.ownKeys(a)
	}
}

// expiry warns of keys that end within 30, 7 and 1 days, and fails for those
// that have ended: what the provider signs with the next key is refused until
// that one is configured.
func (x *examination) expiry(a Account) {
	const fix = "download the provider's next key and put it beside this one; it is read within a minute, or at once on SIGHUP"
	now, ending, fine := x.Now(), 0, 0
	for _, k := range a.Provider.Keys() {
		if k.NotAfter.IsZero() {
			continue
		}
		left := k.NotAfter.Sub(now)
		name, on := k.Kind+" "+k.ID, k.NotAfter.In(beijing).Format("2006-01-02 15:04")
		switch {
		case left <= 0:
			x.fail(KeysExpiry, a.Name, fix, "%s ended on %s", name, on)
		case left <= keyEndsToday:
			x.warn(KeysExpiry, a.Name, fix, "%s ends within 1 day, on %s", name, on)
		case left <= keyIsDue:
			x.warn(KeysExpiry, a.Name, fix, "%s ends within 7 days, on %s", name, on)
		case left <= keyEndsSoon:
			x.warn(KeysExpiry, a.Name, fix, "%s ends within 30 days, on %s", name, on)
		default:
			fine++
			continue
		}
		ending++
	}
	switch {
	case ending > 0:
	case fine > 0:
		x.ok(KeysExpiry, a.Name, "no key ends within 30 days")
	default:
		x.ok(KeysExpiry, a.Name, "its keys have no end")
	}
}

// beijing is where providers and their users are.
var beijing = time.FixedZone("", 8*60*60)

// ownKeys finds the merchant's own key where the provider's belongs. It looks
// like any other public key; what gives it away is its private half, which
// people keep in the same folder. The simulator's keys have theirs there too, and
// say so.
func (x *examination) ownKeys(a Account) {
	looked, simulated, signer := 0, 0, ""
	for _, f := range a.Files {
		for _, k := range mend.KeysIn(f.Content) {
			if k.Own {
				continue // a private key where a public one belongs: keys.read says so
			}
			looked++
			switch near, is := x.privateHalf(k, a.Nearby); {
			case !is:
			case x.forTests(near):
				simulated, signer = simulated+1, near.Path
			default:
				x.fail(KeysOwn, a.Name, "put the provider's own public key or certificate there: the console shows it beside yours",
					"%s is the merchant's own key: %s is its private half", f.Path, near.Path)
				return
			}
		}
	}
	switch {
	case looked == 0:
		x.skip(KeysOwn, a.Name, "no public key could be read")
	case simulated == looked:
		x.skip(KeysOwn, a.Name, "simulator keys: test keys, not for real money")
	case simulated > 0:
		x.warn(KeysOwn, a.Name, "take the test keys out of the account, and leave the provider's",
			"test keys, not for real money, are trusted beside others: who has %s signs payments of this account", signer)
	default:
		x.ok(KeysOwn, a.Name, "%s, and no private half of it lies beside it", counted(looked, "public key"))
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// privateHalf is the file that holds the private half of a key; one that is not
// the simulator's goes first.
func (x *examination) privateHalf(k mend.Key, files []File) (found File, is bool) {
	for _, f := range files {
		for _, other := range mend.KeysIn(f.Content) {
			if !other.Own || !other.Public.Equal(k.Public) {
				continue
			}
			if !x.forTests(f) {
				return f, true
			}
			found, is = f, true
		}
	}
	return found, is
}

// forTests says whether a file calls its keys the simulator's.
func (x *examination) forTests(f File) bool {
	return x.TestMark != "" && bytes.Contains(f.Content, []byte(x.TestMark))
}
