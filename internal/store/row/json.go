package row

import (
	"encoding/json"

	"github.com/notifyd/notifyd/internal/order"
)

// Results is what stands in the column results: nil when the notification has
// one fact and its other columns say what became of it.
func Results(n *order.Row) *string {
	return results(n.Results, order.FactResult{
		Merchant: n.Merchant, OutTradeNo: n.OutTradeNo, Kind: n.Kind, Outcome: n.Outcome, Reason: n.Reason})
}

// ResolvedResults does for a resolution what Results does for a row. The kind of
// the row stays, and is not known here, so that the column always says it.
func ResolvedResults(r *order.Resolution) *string { return results(r.Results, order.FactResult{}) }

func results(list []order.FactResult, plain order.FactResult) *string {
	if len(list) == 1 && list[0] == plain {
		return nil
	}
	b, _ := json.Marshal(list) // plain structs of texts always marshal
	text := string(b)
	return &text
}

func readResults(text *string, plain order.FactResult) ([]order.FactResult, error) {
	if text == nil {
		return []order.FactResult{plain}, nil
	}
	var list []order.FactResult
	err := json.Unmarshal([]byte(*text), &list)
	return list, err
}

// FurtherOrders are the orders that a notification names besides its first.
func FurtherOrders(first order.Key, results []order.FactResult) []order.Key {
	var further []order.Key
	for i := range results {
		k := order.Key{Merchant: results[i].Merchant, OutTradeNo: results[i].OutTradeNo}
		if k != first {
			further = append(further, k)
		}
	}
	return Keys(further)
}

// storedFact is a waiting fact as it is stored. Its names are part of the
// schema: a field of order.Fact may be renamed, these may not.
type storedFact struct {
	Kind             order.Kind   `json:"kind"`
	Merchant         string       `json:"merchant"`
	SubMerchant      string       `json:"sub_merchant,omitempty"`
	OutTradeNo       string       `json:"out_trade_no"`
	ByTxn            bool         `json:"by_txn,omitempty"`
	Provider         string       `json:"provider"`
	Account          string       `json:"account"`
	ProviderTxnID    string       `json:"provider_txn_id"`
	AmountFen        int64        `json:"amount_fen"`
	Currency         string       `json:"currency,omitempty"`
	At               *int64       `json:"at_us,omitempty"`
	Implied          bool         `json:"implied,omitempty"`
	OutRefundNo      string       `json:"out_refund_no,omitempty"`
	ProviderRefundID string       `json:"provider_refund_id,omitempty"`
	RunningTotalFen  int64        `json:"running_total_fen,omitempty"`
	Conflict         order.Reason `json:"conflict,omitempty"`
}

// Fact is a waiting fact as it is stored.
func Fact(f *order.Fact) string {
	b, _ := json.Marshal(storedFact{f.Kind, f.Merchant, f.SubMerchant, f.OutTradeNo, f.ByTxn, f.Provider, f.Account, f.ProviderTxnID,
		f.AmountFen, f.Currency, Micros(f.At), f.Implied, f.OutRefundNo, f.ProviderRefundID, f.RunningTotalFen, f.Conflict})
	return string(b) // plain structs of texts and numbers always marshal
}

func readFact(text string) (order.Fact, error) {
	var s storedFact
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return order.Fact{}, err
	}
	return order.Fact{Kind: s.Kind, Merchant: s.Merchant, SubMerchant: s.SubMerchant, OutTradeNo: s.OutTradeNo, ByTxn: s.ByTxn,
		Provider: s.Provider, Account: s.Account, ProviderTxnID: s.ProviderTxnID, AmountFen: s.AmountFen, Currency: s.Currency,
		At: Time(s.At), Implied: s.Implied, OutRefundNo: s.OutRefundNo, ProviderRefundID: s.ProviderRefundID,
		RunningTotalFen: s.RunningTotalFen, Conflict: s.Conflict}, nil
}
