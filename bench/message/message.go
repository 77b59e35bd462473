// Package message makes the notifications that the benchmark sends: signed in
// the providers' place before any clock runs, as the bytes of whole HTTP/1.1
// requests. It imports account, the forge and the standard library.
package message

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/notifyd/notifyd/bench/account"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// Kind is a protocol and what is told by it.
type Kind string

// The kinds of messages.
const (
	V3Paid     Kind = "v3"
	V2Paid     Kind = "v2"
	AliPaid    Kind = "alipay"
	V3Refund   Kind = "v3 refund"
	V2Refund   Kind = "v2 refund"
	AliRefund  Kind = "alipay refund"
	V3Unproven Kind = "v3 bad signature"
)

// Window is for how long after it was made a v3 message is taken: receivers
// accept 300 s both ways, and messages are dated ahead to use most of that.
const (
	Window = 450 * time.Second
	ahead  = 200 * time.Second
)

// Make is the message about the n-th order.
func Make(k Kind, n int, now time.Time) forge.Message {
	paidAt := now.Add(-time.Minute).Truncate(time.Second)
	switch k {
	case V3Paid:
		return account.WechatV3().Notify(v3Event(n, now), now.Add(ahead))
	case V3Unproven:
		m := account.WechatV3().Notify(v3Event(n, now), now.Add(ahead))
		signature := []byte(m.Header.Get("Wechatpay-Signature"))
		// Another first character is still base64 of the right length.
		if signature[0]++; signature[0] > 'Z' || signature[0] < 'A' {
			signature[0] = 'A'
		}
		m.Header.Set("Wechatpay-Signature", string(signature))
		return m
	case V3Refund:
		r := refund(n, paidAt)
		return account.WechatV3().Notify(forge.WechatEvent{Type: "REFUND.SUCCESS", OriginalType: "refund", Summary: "退款成功",
			CreatedAt: now.Truncate(time.Second), Content: r.V3()}, now.Add(ahead))
	case V2Paid:
		return forge.WechatV2Signer{}.Sign(payment(n, paidAt).V2())
	case V2Refund:
		return forge.WechatV2Signer{}.Seal(refund(n, paidAt).V2())
	case AliPaid:
		return forge.AlipaySigner{}.Sign(trade(n, now).Form())
	case AliRefund:
		t := trade(n, now)
		t.RefundFen, t.Refunded, t.OutBizNo = t.TotalFen, now.Truncate(time.Second), account.RefundNo(n)
		t.NotifyID = "refund" + t.NotifyID
		return forge.AlipaySigner{}.Sign(t.Form())
	}
	panic("there is no kind of message " + string(k))
}

func v3Event(n int, now time.Time) forge.WechatEvent {
	return forge.WechatEvent{Type: "TRANSACTION.SUCCESS", OriginalType: "transaction", CreatedAt: now.Truncate(time.Second),
		Content: payment(n, now.Add(-time.Minute).Truncate(time.Second)).V3()}
}

func payment(n int, at time.Time) forge.WechatPayment {
	return forge.WechatPayment{MchID: account.MchID, AppID: account.AppID, OutTradeNo: account.OrderNo(n),
		TransactionID: account.WechatTxn(n), TotalFen: account.AmountFen(n), Currency: account.Currency, PaidAt: at}
}

func refund(n int, at time.Time) forge.WechatRefund {
	return forge.WechatRefund{MchID: account.MchID, AppID: account.AppID, OutTradeNo: account.OrderNo(n),
		TransactionID: account.WechatTxn(n), OutRefundNo: account.RefundNo(n), RefundID: account.RefundID(n),
		TotalFen: account.AmountFen(n), RefundFen: account.AmountFen(n), RefundedAt: at}
}

func trade(n int, now time.Time) forge.AlipayTrade {
	at := now.Add(-time.Minute).Truncate(time.Second)
	return forge.AlipayTrade{AppID: account.AliAppID, AuthAppID: account.AliAppID, SellerID: account.AliSeller,
		OutTradeNo: account.OrderNo(n), TradeNo: account.AlipayTxn(n), Status: "TRADE_SUCCESS", TotalFen: account.AmountFen(n),
		Subject: "商品", Created: at, Paid: at, NotifyID: fmt.Sprintf("2026010100222%021d", n), NotifiedAt: now.Truncate(time.Second)}
}

// path is where messages of a kind are posted.
func (k Kind) path() string {
	if k == AliPaid || k == AliRefund {
		return account.AlipayPath
	}
	return account.WechatPath
}

// Wire is the whole request as it goes over a kept connection.
func Wire(k Kind, m forge.Message) []byte {
	var b bytes.Buffer
	b.WriteString("POST " + k.path() + " HTTP/1.1\r\nHost: bench.test\r\n")
	names := make([]string, 0, len(m.Header))
	for name := range m.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.WriteString(name + ": " + m.Header.Get(name) + "\r\n")
	}
	b.WriteString("Content-Length: " + strconv.Itoa(len(m.Body)) + "\r\n\r\n")
	b.Write(m.Body)
	return b.Bytes()
}

// Unwire is the header and the body of a request that Wire made.
func Unwire(request []byte) (http.Header, []byte) {
	head, body, _ := bytes.Cut(request, []byte("\r\n\r\n"))
	header := http.Header{}
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		if name, value, found := bytes.Cut(line, []byte(": ")); found {
			header.Set(string(name), string(value))
		}
	}
	return header, body
}

// All makes the requests about the orders from…to-1, on all processors; tell is
// told now and then how many are made.
func All(k Kind, from, to int, now time.Time, tell func(done int)) [][]byte {
	made := make([][]byte, to-from)
	const piece = 256
	pieces := make(chan int)
	var mu sync.Mutex
	done := 0
	var makers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		makers.Go(func() {
			for at := range pieces {
				end := min(at+piece, len(made))
				for i := at; i < end; i++ {
					made[i] = Wire(k, Make(k, from+i, now))
				}
				mu.Lock()
				done += end - at
				tell(done)
				mu.Unlock()
			}
		})
	}
	for at := 0; at < len(made); at += piece {
		pieces <- at
	}
	close(pieces)
	makers.Wait()
	return made
}

// Mix is 70 % unique payments, 25 % repeats of payments that are long acked, and
// 5 % with bad signatures, in an order that is the same every time.
func Mix(unique, bad [][]byte) [][]byte {
	// A repeat is of a message so far back that no connection still holds it.
	const back = 2048
	random := rand.New(rand.NewPCG(70, 25))
	var mixed [][]byte
	sent := 0
	for sent < len(unique) {
		switch p := random.IntN(100); {
		case p < 70 || sent <= back && p < 95:
			mixed = append(mixed, unique[sent])
			sent++
		case p < 95:
			mixed = append(mixed, unique[random.IntN(sent-back)])
		default:
			mixed = append(mixed, bad[random.IntN(len(bad))])
		}
	}
	return mixed
}
