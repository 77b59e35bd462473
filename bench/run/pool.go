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
	if p := b.pools[key]; p != nil && p.fresh(k) {
		return p, nil
	}
	p := b.part(key)
	if p == nil {
		p = b.sign(key)
	}
	p.file = filepath.Join(b.Folder, fmt.Sprintf("%s-%d-%d.pool", strings.ReplaceAll(string(k), " ", "-"), from, to))
	b.pools[key] = p
	return p, load.WritePool(p.file, p.requests)
}

func (p *pool) fresh(k message.Kind) bool {
	return !strings.HasPrefix(string(k), "v3") || time.Since(p.made) < message.Window-margin
}

// part is a pool out of a larger one; nil when there is none.
func (b *bench) part(want poolKey) *pool {
	for have, p := range b.pools {
		if have.kind == want.kind && have.from <= want.from && want.to <= have.to && have != want && p.fresh(want.kind) {
			return &pool{requests: p.requests[want.from-have.from : want.to-have.from], made: p.made}
		}
	}
	return nil
}

func (b *bench) sign(key poolKey) *pool {
	count := key.to - key.from
	b.say("signing %d messages: %s", count, key.kind)
	p := &pool{made: time.Now()}
	told := 0
	p.requests = message.All(key.kind, key.from, key.to, p.made, func(done int) {
		if quarter := 4 * done / count; quarter > told {
			told = quarter
			b.say("signing: %d %%", 25*quarter)
		}
	})
	return p
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
