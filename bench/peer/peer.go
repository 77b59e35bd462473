// Package peer is what notifyd is measured against: two receivers as a careful
// user would write them with the libraries of the trade, each as the library's
// own README shows. Both share what any shop would write the same way: the
// tables, the decision about an order, and the server.
//
// One notification is one transaction of four prepared statements: keep it as it
// came (a copy meets the unique key and ends here), lock the order, change it,
// write the event. It is acked after the commit.
package peer

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/notifyd/notifyd/bench/account"
)

// Schema makes the tables of both peers.
//
//go:embed schema.sql
var Schema string

// ConnLimit is the size of both pools: enough that two cores never wait for a
// connection, few enough that the server's processes do not crowd each other.
const ConnLimit = 16

const maxBodyBytes = 1 << 20

// fact is what a verified notification says.
type fact struct {
	Provider   string
	Key        string // what it is about: "paid/4200…", "refund/5030…"
	OutTradeNo string
	TxnID      string
	AmountFen  int64 // of the payment, or of the refund
	Refund     bool
	Total      bool // AmountFen is the sum of all refunds so far
	At         time.Time
}

// inbound is a notification with the request that brought it.
type inbound struct {
	fact
	Header     string
	Body       []byte
	ReceivedAt time.Time
}

// ledger keeps notifications; record returns after the commit, also for a copy.
type ledger interface {
	record(ctx context.Context, in inbound) error
	close()
}

// errNotProven: the signature, the account or the form is wrong.
var errNotProven = errors.New("not proven")

// library verifies and reads requests: what the two peers do differently.
type library interface {
	wechatV3(r *http.Request) (fact, error)
	wechatV2(r *http.Request) (fact, error)
	alipay(r *http.Request) (fact, error)
	ackWechatV2(w http.ResponseWriter)
	ackAlipay(w http.ResponseWriter)
}

// Options of a peer.
type Options struct {
	Name        string // gopay or sdk
	DatabaseURL string
	Listen      string            // host:port
	Ready       func(addr string) // told when it listens
}

// Serve serves until ctx ends.
func Serve(ctx context.Context, o Options) error {
	lib, book, err := open(ctx, o.Name, o.DatabaseURL)
	if err != nil {
		return err
	}
	defer book.close()
	return listen(ctx, o.Listen, routes(lib, book), o.Ready)
}

func open(ctx context.Context, name, databaseURL string) (library, ledger, error) {
	switch name {
	case "gopay":
		lib, err := newGopay()
		if err != nil {
			return nil, nil, err
		}
		book, err := openPgx(ctx, databaseURL)
		return lib, book, err
	case "sdk":
		lib, err := newSDK()
		if err != nil {
			return nil, nil, err
		}
		book, err := openGorm(databaseURL)
		return lib, book, err
	}
	return nil, nil, errors.New("there is no peer " + name + ": gopay or sdk")
}

func routes(lib library, book ledger) http.Handler {
	r := chi.NewRouter()
	r.Post(account.WechatPath, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Wechatpay-Signature") != "" {
			take(w, r, book, handler{lib.wechatV3, ackWechatV3, failWechatV3})
			return
		}
		take(w, r, book, handler{lib.wechatV2, lib.ackWechatV2, failWechatV2})
	})
	r.Post(account.AlipayPath, func(w http.ResponseWriter, r *http.Request) {
		take(w, r, book, handler{lib.alipay, lib.ackAlipay, failAlipay})
	})
	return r
}

// handler is one protocol.
type handler struct {
	parse func(*http.Request) (fact, error)
	ack   func(http.ResponseWriter)
	fail  func(http.ResponseWriter, int)
}

// take keeps the raw request, because libraries read the body away.
func take(w http.ResponseWriter, r *http.Request, book ledger, h handler) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		h.fail(w, http.StatusBadRequest)
		return
	}
	in := inbound{Body: body, ReceivedAt: time.Now()}
	header, err := json.Marshal(r.Header)
	if err != nil {
		h.fail(w, http.StatusBadRequest)
		return
	}
	in.Header = string(header)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if in.fact, err = h.parse(r); err != nil {
		h.fail(w, http.StatusUnauthorized)
		return
	}
	if err := book.record(r.Context(), in); err != nil {
		h.fail(w, http.StatusInternalServerError)
		return
	}
	h.ack(w)
}

func ackWechatV3(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"code": "SUCCESS", "message": "成功"})
}

func failWechatV3(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": "FAIL", "message": "失败"})
}

func failWechatV2(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<xml><return_code><![CDATA[FAIL]]></return_code><return_msg><![CDATA[not accepted]]></return_msg></xml>")
}

func failAlipay(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "failure")
}
