package wechat

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/notifyd/notifyd/internal/order"
)

// factsV2 reads a message whose sign holds.
func (m *message) factsV2() (order.Notification, error) {
	x := &m.xml
	n, err := m.classifyV2()
	if err != nil {
		return order.Notification{}, err
	}
	if isAmbiguous(x, m.a.options.EchoFields) {
		n = m.conflict(n, order.ReasonAmbiguousText)
	}
	if !n.Kind.Moves() || isConflict(&n) {
		n.Distinct = fieldsJSON(x.fields)
	}
	if !saysItAll(&n) {
		n.Content = fieldsJSON(x.fields)
	}
	return n, nil
}

// classifyV2 goes by the fields, for v2 has no word for what a message is about.
func (m *message) classifyV2() (order.Notification, error) {
	x := &m.xml
	result := x.get("result_code")
	combined := isCombinedV2(x)
	payment := combined || x.get("out_trade_no") != nil || x.get("transaction_id") != nil || x.get("total_fee") != nil
	if payment && result == nil {
		return order.Notification{}, unproven(CodeMissingField, "result_code is missing")
	}
	state := x.get("trade_state")
	paid := string(result) == stateSuccess && (state == nil || string(state) == stateSuccess)
	switch {
	case combined && paid:
		return m.combinedV2()
	case payment && paid:
		return m.paymentV2()
	}
	p, err := m.a.bind(x.get, &v2OtherNames)
	if err != nil {
		return order.Notification{}, err
	}
	kind := order.KindOther
	if x.get("change_type") != nil && !payment {
		kind = order.KindContract
	}
	return m.unhandled(kind, p, x.get("out_trade_no")), nil
}

func isCombinedV2(x *flatXML) bool {
	return x.get("combine_out_trade_no") != nil || x.get("sub_order_list") != nil
}

// paymentV2 reads an ordinary payment or a deduction.
//
// Source: WeChat Pay docs, v2, "payment result notification".
func (m *message) paymentV2() (order.Notification, error) {
	x := &m.xml
	p, err := m.a.bind(x.get, &v2PaymentNames)
	if err != nil {
		return order.Notification{}, err
	}
	var r reading
	f := m.fact(order.KindPaid, p)
	f.OutTradeNo = r.number(x.get("out_trade_no"), maxOrderNumber)
	f.ProviderTxnID = r.number(x.get("transaction_id"), maxProviderNumber)
	f.AmountFen = r.fen(x.get("total_fee"))
	f.Currency = r.currency(x.get("fee_type"), order.DefaultCurrency)
	f.At = r.at(x.get("time_end"), parseTimeEnd)
	n := m.notification(order.KindPaid, f)
	if r.unreadable {
		n = m.conflict(n, order.ReasonUnreadableField)
	}
	return n, nil
}

// combinedV2 reads the JSON text in sub_order_list.
//
// Source: WeChat Pay docs, v2, "combined payment result notification".
func (m *message) combinedV2() (order.Notification, error) {
	if _, err := m.a.bind(m.xml.get, &v2CombinedNames); err != nil {
		return order.Notification{}, err
	}
	fault := m.content.read(m.xml.get("sub_order_list"), maxPlainNodes)
	if fault != nil && fault.code != CodeMalformedJSON {
		return order.Notification{}, fault.refusal()
	}
	list := none
	if fault == nil {
		list = m.content.member(root, "order_list")
	}
	return m.combined(list, &v2SubOrder)
}

// actedOn are the names whose values decide what a message means to us.
var actedOn = []string{
	"out_trade_no", "transaction_id", "trade_no", "total_fee", "total_amount", "fee_type", "refund_fee",
	"trade_state", "trade_status", "return_code", "result_code", "refund_status",
	"gmt_payment", "gmt_refund", "time_end", "app_id", "appid", "auth_app_id", "seller_id", "mch_id", "sub_mch_id",
	"notify_type", "msg_method", "charset", "req_info", "sub_order_list", "combine_out_trade_no",
}

// isAmbiguous says whether the signed text, which joins name=value by & without
// escaping, can be cut into other fields that mean something else. attach is the
// merchant's own text, so that &name= in it is no sign of a new cut, with one
// exception: see swallowsCurrency. The account may list more such fields.
func isAmbiguous(x *flatXML, echo []string) bool {
	for _, f := range x.fields {
		if bytes.IndexByte(f.value, '&') < 0 {
			continue
		}
		if string(f.name) == "attach" {
			if swallowsCurrency(x, f.value) {
				return true
			}
			continue
		}
		if namesField(f.value) && !contains(echo, f.name) {
			return true
		}
	}
	return false
}

// namesField says whether text contains &NAME= for a name that we act on.
func namesField(text []byte) bool {
	for {
		_, rest, found := bytes.Cut(text, []byte("&"))
		if !found {
			return false
		}
		name, _, found := bytes.Cut(rest, []byte("="))
		if !found {
			return false
		}
		if contains(actedOn, name) {
			return true
		}
		text = rest
	}
}

// swallowsCurrency says whether attach may have been made to swallow the fields
// up to fee_type, so that a payment in another currency would read as one in
// yuan. A cut takes neighbours only: any field between the two proves it innocent.
func swallowsCurrency(x *flatXML, attach []byte) bool {
	if !bytes.Contains(attach, []byte("&fee_type=")) {
		return false
	}
	return !slices.ContainsFunc(x.fields, func(f field) bool {
		return len(f.value) > 0 && string(f.name) > "attach" && string(f.name) <= "fee_type"
	})
}

// fieldsJSON writes the fields as one JSON object in order of their names,
// without what differs between two copies of one message, and without empty ones,
// which nobody signed.
func fieldsJSON(fields []field) []byte {
	values := make(map[string]string, len(fields))
	for _, f := range fields {
		switch string(f.name) {
		case "sign", "sign_type", "nonce_str":
			continue
		}
		if len(f.value) > 0 {
			values[string(f.name)] = string(f.value)
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(values) // texts alone, which cannot fail; names in order
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
