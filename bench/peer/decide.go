package peer

import (
	"encoding/json"
	"time"
)

// Order statuses and event types of both peers.
const (
	statusPaid     = "paid"
	statusRefunded = "refunded"

	eventPaid     = "order.paid"
	eventRefunded = "order.refunded"
	eventConflict = "order.conflict"
)

// order is a row of orders, as far as a decision reads and writes it.
type order struct {
	OutTradeNo    string `gorm:"primaryKey"`
	AmountFen     int64
	Status        string
	ProviderTxnID string
	RefundedFen   int64
	PaidAt        *time.Time
	UpdatedAt     time.Time
}

// decision is what follows from a fact: the order as it is now, whether it
// changed, and the event.
type decision struct {
	order   order
	changed bool
	event   string
	payload string
}

// decide checks the amount and moves the order. An order that is not known, and
// what does not fit, is told as a conflict and moves nothing.
func decide(o order, known bool, f fact, now time.Time) (decision, error) {
	d := decision{order: o, event: eventConflict}
	reason := ""
	switch {
	case !known:
		reason = "unknown order"
	case !f.Refund && o.ProviderTxnID != "":
		reason = "paid already"
	case !f.Refund && f.AmountFen != o.AmountFen:
		reason = "amount differs"
	case !f.Refund:
		at := f.At
		d.order.Status, d.order.ProviderTxnID, d.order.PaidAt = statusPaid, f.TxnID, &at
		d.changed, d.event = true, eventPaid
	case o.ProviderTxnID != f.TxnID:
		reason = "refund of another payment"
	default:
		total := f.AmountFen
		if !f.Total {
			total += o.RefundedFen
		}
		if total > o.AmountFen {
			reason = "refund exceeds payment"
			break
		}
		d.order.RefundedFen = total
		if total == o.AmountFen {
			d.order.Status = statusRefunded
		}
		d.changed, d.event = true, eventRefunded
	}
	d.order.UpdatedAt = now
	payload, err := json.Marshal(map[string]any{
		"out_trade_no": f.OutTradeNo, "status": d.order.Status, "amount_fen": d.order.AmountFen,
		"refunded_fen": d.order.RefundedFen, "provider": f.Provider, "provider_txn_id": f.TxnID,
		"paid_at": d.order.PaidAt, "reason": reason,
	})
	d.payload = string(payload)
	return d, err
}
