package run

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/notifyd/notifyd/bench/load"
	"github.com/notifyd/notifyd/bench/message"
)

type poolKey struct {
	kind     message.Kind
	from, to int
}

// pool is signed requests, in memory and in a file.
type pool struct {
	requests [][]byte
	file     string
	made     time.Time
}

// margin is the longest that one measurement takes: messages that would go
// stale within it are signed again.
const margin = 40 * time.Second

// pool makes the requests of a kind about the orders from…to-1, or gives those
// that it has as long as receivers take them.
func (b *bench) pool(k message.Kind, from, to int) (*pool, error) {
	key := poolKey{k, from, to}
	if p := b.pools[key]; p != nil && (!strings.HasPrefix(string(k), "v3") || time.Since(p.made) < message.Window-margin) {
		return p, nil
	}
	b.say("signing %d messages: %s", to-from, k)
	p := &pool{made: time.Now()}
	told := 0
	p.requests = message.All(k, from, to, p.made, func(done int) {
		if quarter := 4 * done / (to - from); quarter > told {
			told = quarter
			b.say("signing: %d %%", 25*quarter)
		}
	})
	p.file = filepath.Join(b.Folder, fmt.Sprintf("%s-%d-%d.pool", strings.ReplaceAll(string(k), " ", "-"), from, to))
	b.pools[key] = p
	return p, load.WritePool(p.file, p.requests)
}

// mixed makes the pool of 70 % unique payments, 25 % repeats and 5 % bad
// signatures.
func (b *bench) mixed() (*pool, error) {
	unique, err := b.pool(message.V3Paid, 0, b.Messages)
	if err != nil {
		return nil, err
	}
	bad, err := b.pool(message.V3Unproven, 0, min(b.Messages, 1000))
	if err != nil {
		return nil, err
	}
	p := &pool{requests: message.Mix(unique.requests, bad.requests), file: filepath.Join(b.Folder, "mixed.pool"), made: unique.made}
	return p, load.WritePool(p.file, p.requests)
}
