// Package alipay is the adapter for Alipay: it verifies the signed forms that
// Alipay posts, turns them into facts about orders and words the answer.
//
// It imports order, provider, the standard library and x/text for the Chinese
// charsets. It does no network I/O: keys come from files, nothing that a message
// names is ever fetched.
package alipay

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// providerName stands in every key of a payment, so it never changes.
const providerName = "alipay"

// Adapter is one Alipay application. It is safe for concurrent use.
type Adapter struct {
	options   Options
	env       provider.Env
	signTypes []string
	echo      []string // sorted

	reloading sync.Mutex
	ring      atomic.Pointer[keyring]
}

var _ provider.Provider = (*Adapter)(nil)

// Parse verifies a notification and reads it. The order of the steps is the
// safety of it: form, signature, is it ours, can it be trusted, what does it say.
func (a *Adapter) Parse(req provider.Request) (order.Notification, error) {
	f, scratch, err := readForm(req.Body)
	if err != nil {
		return order.Notification{}, err
	}
	if err := a.verify(f, scratch); err != nil {
		return order.Notification{}, err
	}
	set, err := charsetOf(f)
	if err != nil {
		return order.Notification{}, err
	}
	m := message{form: f, charset: set, what: classify(f)}
	if err := a.ours(m); err != nil {
		return order.Notification{}, err
	}
	n := order.Notification{
		ReceivedAt: req.ReceivedAt,
		Provider:   providerName, Account: a.env.Account,
		Scope: a.options.AppID, ProviderID: m.id(),
		Merchant: a.env.Merchant,
	}
	a.facts(&n, m)
	return n, nil
}

// Identity names the application: two accounts must not share it.
func (a *Adapter) Identity() string { return "app_id " + a.options.AppID }

// message is a verified form and how to read it.
type message struct {
	form
	charset charset
	what    order.Kind // kindTrade, or one of the kinds that move no order
}

// kindTrade stands for the kinds that trade_status decides. It never leaves the
// package.
const kindTrade order.Kind = ""

// classify says what a message is about.
// Source: Alipay docs: notify_type of each product; message service 1.1
// (msg_method).
func classify(f form) order.Kind {
	if method := f.get("msg_method"); method != "" {
		if method == "alipay.fund.trans.order.changed" {
			return order.KindTransfer
		}
		return order.KindMessage
	}
	switch kind := f.get("notify_type"); {
	case kind == "trade_status_sync", kind == "" && f.get("trade_status") != "":
		return kindTrade
	case kind == "dut_user_sign", kind == "dut_user_unsign":
		return order.KindAgreement
	case len(kind) > len(fundAuth) && kind[:len(fundAuth)] == fundAuth:
		return order.KindFundAuth
	}
	return order.KindOther
}

// fundAuth begins the notify_type of everything about frozen funds.
const fundAuth = "fund_auth_"

// ours says whether the message is for this account: the application always
// where money moves, everything else where it is named. A field without a value
// names nobody, so it is not us that it names.
func (a *Adapter) ours(m message) error {
	app := m.get("app_id")
	if app != a.options.AppID && (m.names("app_id") || m.what == kindTrade) {
		return provider.Refuse(provider.ErrForeign, codeForeignApp, "it is for %q", provider.Clip(app, maxNamed))
	}
	auth := m.get("auth_app_id")
	if m.names("auth_app_id") && auth != a.options.AppID && !slices.Contains(a.options.AuthAppIDs, auth) {
		return provider.Refuse(provider.ErrForeign, codeForeignAuthApp, "it is for %q", provider.Clip(auth, maxNamed))
	}
	seller := m.get("seller_id")
	if a.options.SellerID != "" && m.names("seller_id") && seller != a.options.SellerID {
		return provider.Refuse(provider.ErrForeign, codeForeignSeller, "it is for %q", provider.Clip(seller, maxNamed))
	}
	return nil
}

// maxIDLength is the length of notify_id, String(128).
const maxIDLength = 128

// id is the provider's own id of the notification, if it has one that can be
// stored. It is no proof of anything and may be missing.
func (m message) id() string {
	id := m.get("notify_id")
	if len(id) > maxIDLength {
		return ""
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' || id[i] == '&' {
			return ""
		}
	}
	return id
}
