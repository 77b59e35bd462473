// Package wechat turns WeChat Pay's notifications, v2 XML and v3 JSON, into
// facts about orders, and words the answers. It owns the proof that a message is
// genuine (signature, freshness, decryption, merchant and app) and the reading
// of its fields.
//
// It imports provider, order and the standard library. It reads files only when
// it is made and when it reloads, opens no connection, and follows nothing that
// a message names. The readers of XML and JSON are its own: what is signed are
// bytes, and a reader that forgives (a name twice, a DOCTYPE, trailing text) lets
// two programs see two messages in the same bytes.
package wechat

import (
	"crypto/sha256"
	"hash"
	"sync"
	"sync/atomic"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// Name is the provider's name in configuration, facts and rows.
const Name = "wechat"

// Adapter is the provider.Provider of one WeChat Pay account.
type Adapter struct {
	options  Options
	env      provider.Env
	identity string
	anySub   bool // sub_mchids has "*"

	keys    atomic.Pointer[keySet]
	reload  sync.Mutex
	scratch sync.Pool // of *scratch
}

var _ provider.Provider = (*Adapter)(nil)

// Identity is the merchant number: two accounts with the same one would take
// each other's messages.
func (a *Adapter) Identity() string { return a.identity }

// Parse proves a request and reads its facts. A request with a
// Wechatpay-Signature header is a v3 one, any other v2.
func (a *Adapter) Parse(req provider.Request) (order.Notification, error) {
	s := a.scratch.Get().(*scratch)
	defer a.release(s)
	m := message{a: a, req: &req, keys: a.keys.Load(), scratch: s}
	if isV3(req.Header) {
		return m.parseV3()
	}
	return m.parseV2()
}

// message is one request on its way through the adapter.
type message struct {
	a    *Adapter
	req  *provider.Request
	keys *keySet
	*scratch
}

// scratch is memory that one message after another uses. Nothing of it may be
// part of a notification.
type scratch struct {
	hash      hash.Hash
	sum       []byte
	text      []byte // what is signed
	signature []byte
	plain     []byte // what was decrypted
	envelope  document
	content   document
	xml       flatXML
	inner     flatXML
}

func newScratch() *scratch { return &scratch{hash: sha256.New()} }

// maxKept is the most that one message may leave in the pool: an ordinary one
// has a few KiB.
const maxKept = 64 << 10

func (a *Adapter) release(s *scratch) {
	if cap(s.text) > maxKept || cap(s.plain) > maxKept || cap(s.content.nodes) > maxKept/32 {
		return
	}
	s.envelope.src, s.content.src = nil, nil
	s.xml.forget()
	s.inner.forget()
	a.scratch.Put(s)
}
