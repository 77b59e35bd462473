package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/notifyd/notifyd/internal/order"
)

const (
	// maxAmountFen is ten billion yuan: far above what a provider reports, far
	// below where sums of int64 end.
	maxAmountFen        = 1_000_000_000_000
	maxSubMerchantBytes = 32
)

// registration is the body that registers an order. The tags make the document.
type registration struct {
	OutTradeNo  string     `json:"out_trade_no" minLength:"1" maxLength:"64" doc:"The order's number"`
	AmountFen   int64      `json:"amount_fen" minimum:"1" maximum:"1000000000000" doc:"What the payment must amount to, in fen"`
	Currency    string     `json:"currency,omitempty" pattern:"^[A-Z]{3}$" doc:"ISO 4217; CNY when left out"`
	ExpiresAt   *time.Time `json:"expires_at,omitempty" doc:"A payment after this is late"`
	SubMerchant string     `json:"sub_merchant,omitempty" pattern:"^[0-9A-Za-z]{1,32}$" doc:"Partner mode: whose order it is"`
}

// registrationFields are the names of its fields, as a body spells them.
var registrationFields = []string{"out_trade_no", "amount_fen", "currency", "expires_at", "sub_merchant"}

// nothing is the body of a command that has nothing to say: empty, or {}.
type nothing struct{}

var (
	currencyForm    = regexp.MustCompile(`^[A-Z]{3}$`)
	subMerchantText = regexp.MustCompile(`^[0-9A-Za-z]{1,32}$`)
)

func subMerchantForm(s string) bool { return subMerchantText.MatchString(s) }

func (a *private) register(c *call) error {
	merchant, err := a.merchant(c)
	if err != nil {
		return err
	}
	fields, err := c.object(registrationFields)
	if err != nil {
		return err
	}
	r, err := readRegistration(fields, merchant)
	if err != nil {
		return err
	}
	created, err := a.commands.Register(c.r.Context(), r)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		c.w.Header().Set("Location", orderPath(r.Key))
	}
	return a.showOrder(c, status, r.Key)
}

func readRegistration(fields map[string]json.RawMessage, merchant string) (r order.Registration, err error) {
	texts := map[string]string{}
	for _, name := range []string{"out_trade_no", "currency", "expires_at", "sub_merchant"} {
		if texts[name], err = textField(fields, name); err != nil {
			return r, err
		}
	}
	if r.AmountFen, err = amountField(fields); err != nil {
		return r, err
	}
	r.Currency = texts["currency"]
	r.Key = order.Key{Merchant: merchant, OutTradeNo: texts["out_trade_no"]}
	if n := utf8.RuneCountInString(r.Key.OutTradeNo); n < 1 || n > maxOrderNumberRunes || !cleanText(r.Key.OutTradeNo) {
		return r, badField("out_trade_no", "must be a text of 1 to %d characters", maxOrderNumberRunes)
	}
	if r.Currency != "" && !currencyForm.MatchString(r.Currency) {
		return r, badField("currency", "must be three capital letters, like CNY")
	}
	if text := texts["expires_at"]; text != "" {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return r, badField("expires_at", "must be a time like 2026-01-02T15:04:05+08:00")
		}
		r.ExpiresAt = t.UTC().Truncate(time.Microsecond)
	}
	return r, addSubMerchant(&r.Key, texts["sub_merchant"])
}

// addSubMerchant puts the body's sub-merchant into the key; it may also stand in
// the query already, and then must be the same.
func addSubMerchant(key *order.Key, sub string) error {
	if sub == "" {
		return nil
	}
	if !subMerchantForm(sub) {
		return badField("sub_merchant", "must be 1 to %d letters and digits", maxSubMerchantBytes)
	}
	base, named, partner := strings.Cut(key.Merchant, "/")
	if partner && named != sub {
		return badField("sub_merchant", "differs from the one in the query")
	}
	key.Merchant = base + "/" + sub
	return nil
}

// textField is a text; "" when the field is left out or null. An empty text is
// an error: it would silently mean "left out".
func textField(fields map[string]json.RawMessage, name string) (string, error) {
	raw, given := fields[name]
	if !given || string(raw) == "null" {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil || s == "" {
		return "", badField(name, "must be a text that is not empty")
	}
	return s, nil
}

// amountField reads digits only: no fraction, no exponent, no text.
func amountField(fields map[string]json.RawMessage) (int64, error) {
	n, err := strconv.ParseInt(string(fields["amount_fen"]), 10, 64)
	if err != nil || n < 1 || n > maxAmountFen {
		return 0, badField("amount_fen", "must be a whole number of fen from 1 to %d", int64(maxAmountFen))
	}
	return n, nil
}

// object reads the body as one JSON object with no other fields than known, each
// at most once and in exactly this spelling. An empty body is an empty object.
func (c *call) object(known []string) (map[string]json.RawMessage, error) {
	body, err := readCommand(c.w, c.r)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(body)) == 0 {
		return fields, nil
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') || !utf8.Valid(body) {
		return nil, problemNotJSON
	}
	for dec.More() {
		if err := field(dec, known, fields); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return nil, problemNotJSON
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, problemNotJSON
	}
	return fields, nil
}

func field(dec *json.Decoder, known []string, into map[string]json.RawMessage) error {
	token, err := dec.Token()
	name, isText := token.(string)
	var value json.RawMessage
	if err != nil || !isText || dec.Decode(&value) != nil {
		return problemNotJSON
	}
	if _, twice := into[name]; twice {
		return badField(claim(name), "is given twice")
	}
	for _, k := range known {
		if k == name {
			into[name] = value
			return nil
		}
	}
	return badField(claim(name), "there is no such field here")
}
