package play

import (
	"fmt"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
)

// Teller speaks one protocol to one account. Message signs a notice as it is
// sent at the given time; it is called by several senders at once.
type Teller struct {
	Account  string // its name in the server's configuration
	Merchant string // whose orders the account's are
	Protocol simulator.Protocol
	Message  func(n Notice, at time.Time) (simulator.Message, error)
}

// NewTeller makes the teller of a simulated provider. merchant is whose orders
// the account's are.
func NewTeller(s *simulator.Simulator, merchant string) Teller {
	return Teller{Account: s.Account().Name, Merchant: merchant, Protocol: s.Protocol(),
		Message: func(n Notice, at time.Time) (simulator.Message, error) {
			said, err := notification(s, n)
			if err != nil {
				return simulator.Message{}, err
			}
			return said.At(at), nil
		}}
}

func notification(s *simulator.Simulator, n Notice) (simulator.Notification, error) {
	o := simulator.Order{OutTradeNo: n.OutTradeNo, AmountFen: n.AmountFen, PaidAt: n.PaidAt}
	switch n.Kind {
	case Probe:
		if s.Protocol() != simulator.WechatV3 {
			return simulator.Notification{}, fmt.Errorf("a probe (%s): %w", s.Protocol(), simulator.ErrNever)
		}
		return s.Payment(o).Probe(), nil
	case Paying:
		return s.Waiting(o)
	case Refund:
		return s.Refund(o, simulator.Refund{OutRefundNo: n.OutRefundNo, AmountFen: n.RefundFen, TotalFen: n.RefundedFen, At: n.RefundedAt})
	case Closed:
		return s.Closed(o)
	case Finished:
		return s.Finished(o)
	}
	return s.Payment(o), nil
}
