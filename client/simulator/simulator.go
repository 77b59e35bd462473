package simulator

import (
	"errors"
	"fmt"
	"net/url"
)

// Simulator plays a provider towards one account.
type Simulator struct {
	protocol Protocol
	account  Account
	keys     *Keys
}

// ErrNever is what a simulator says when asked for a notification that its
// provider never sends.
var ErrNever = errors.New("the provider never sends this")

// New makes the simulator of an account. WechatV2 signs with the account's API
// key alone and takes nil for keys.
func New(p Protocol, a Account, k *Keys) (*Simulator, error) {
	if err := a.check(p, k); err != nil {
		return nil, err
	}
	return &Simulator{protocol: p, account: a, keys: k}, nil
}

// Protocol is how the simulator notifies.
func (s *Simulator) Protocol() Protocol { return s.protocol }

// Account is whose notifications it makes.
func (s *Simulator) Account() Account { return s.account }

// Path is the path of the account's notify URL.
func (s *Simulator) Path() string { return "/notify/" + url.PathEscape(s.account.Name) }

func (s *Simulator) notification(d draft) Notification { return Notification{path: s.Path(), draft: d} }

func (s *Simulator) never(what string) error {
	return fmt.Errorf("%s (%s): %w", what, s.protocol, ErrNever)
}

// Payment tells that the order was paid.
func (s *Simulator) Payment(o Order) Notification {
	switch s.protocol {
	case WechatV3:
		return s.notification(s.event("TRANSACTION.SUCCESS", "transaction", o.PaidAt, s.wechatPayment(o).V3()))
	case WechatV2:
		return s.notification(s.signed(s.wechatPayment(o).V2()))
	}
	return s.notification(s.trade(o, tradeSuccess, o.PaidAt))
}

// Refund tells how a refund of the order ended.
func (s *Simulator) Refund(o Order, r Refund) (Notification, error) {
	r = r.identify(o)
	switch s.protocol {
	case WechatV3:
		return s.notification(s.event("REFUND."+string(r.State), "refund", r.At, s.wechatRefund(o, r).V3())), nil
	case WechatV2:
		return s.notification(s.sealed(s.wechatRefund(o, r))), nil
	}
	if r.State != RefundSuccess {
		return Notification{}, s.never("a refund that is " + string(r.State))
	}
	return s.notification(s.refunded(o, r)), nil
}

// Waiting tells that the order was made and waits for its payment (Alipay).
func (s *Simulator) Waiting(o Order) (Notification, error) {
	if s.protocol != Alipay {
		return Notification{}, s.never("an order that waits for its payment")
	}
	return s.notification(s.trade(o, waitBuyerPay, o.PaidAt)), nil
}

// Closed tells that the order was closed without a payment (Alipay).
func (s *Simulator) Closed(o Order) (Notification, error) {
	if s.protocol != Alipay {
		return Notification{}, s.never("an order that closes unpaid")
	}
	return s.notification(s.trade(o, tradeClosed, o.PaidAt)), nil
}

// Finished tells that the order can no longer be refunded (Alipay).
func (s *Simulator) Finished(o Order) (Notification, error) {
	if s.protocol != Alipay {
		return Notification{}, s.never("an order that is finished")
	}
	return s.notification(s.trade(o, tradeFinished, o.PaidAt)), nil
}

// Combined tells that several orders were paid in one (WeChat Pay).
func (s *Simulator) Combined(outTradeNo string, parts ...Order) (Notification, error) {
	if s.protocol == Alipay {
		return Notification{}, s.never("a combined payment")
	}
	if len(parts) == 0 {
		return Notification{}, errors.New("a combined payment has parts")
	}
	c := s.wechatCombined(outTradeNo, parts)
	if s.protocol == WechatV2 {
		return s.notification(s.signed(c.V2())), nil
	}
	return s.notification(s.event("TRANSACTION.SUCCESS", "transaction", parts[0].PaidAt, c.V3())), nil
}
