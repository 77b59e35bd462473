package provider

import (
	"slices"
	"strings"
)

// Fields says of which kind a field is by its name: by the adapters' tables, and of
// names that stand in none of them by what they look like, for a stranger's message
// may be of any interface and any provider. It is the one place that says so, for
// redaction and for masks.
type Fields struct{ table map[string]Sensitive }

// NewFields makes them of adapters' tables. Where tables differ, the last one holds.
func NewFields(tables ...map[string]Sensitive) *Fields {
	f := &Fields{table: map[string]Sensitive{}}
	for _, table := range tables {
		for name, kind := range table {
			f.table[plainName(name)] = kind
		}
	}
	return f
}

// Listed is the kind of a name that stands in a table, "" of any other.
func (f *Fields) Listed(name string) Sensitive { return f.table[plainName(name)] }

// Kind is the kind of a name, "" when it looks like nothing sensitive.
func (f *Fields) Kind(name string) Sensitive {
	name = plainName(name)
	if kind, listed := f.table[name]; listed {
		return kind
	}
	if slices.Contains(things, name) || endsIn(name, describing) || strings.HasPrefix(name, moment) {
		return ""
	}
	for _, s := range stems {
		if endsIn(name, s.ends) || slices.ContainsFunc(s.holds, func(stem string) bool { return strings.Contains(name, stem) }) {
			return s.kind
		}
	}
	return ""
}

// plainName is a name without what spellings of it differ in: case, separators, and
// a place in a list behind it (coupon_fee_0_1).
func plainName(name string) string {
	name = strings.TrimRight(name, "0123456789_-.")
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

func endsIn(name string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
}

// describing are ends of names that say something about a person or a sum without
// naming it: fee_type, account_status, buyer_user_type, payer_currency.
var describing = []string{"type", "status", "state", "time", "currency", "mode", "scene"}

// moment begins Alipay's names of times: gmt_payment, gmt_refund.
const moment = "gmt"

// things are names that look like those of people and are not.
var things = []string{"appname", "bankname", "eventname", "filename", "hostname", "methodname", "servicename", "typename"}

// stems are what names of each kind hold anywhere, or end in, in plain spelling. The
// first kind that fits is taken: email_token is a token before it is an address.
// Every name that ends in "name" is a person's unless it is known to be a thing's.
var stems = []struct {
	kind        Sensitive
	holds, ends []string
}{
	{kind: SensitiveToken, holds: []string{"token", "authcode", "password", "passwd", "secret"}},
	{kind: SensitiveProof, ends: []string{"sign", "signature"}},
	{kind: SensitiveEncrypted, holds: []string{"cipher", "encrypt", "reqinfo", "bizcontent"}},
	{kind: SensitiveOpenID, holds: []string{"openid", "unionid"}},
	{kind: SensitiveAmounts,
		holds: []string{"amount", "price", "money", "balance", "discount", "contribute", "fundbill", "voucherdetail", "refunddetail"},
		ends:  []string{"fee", "fees", "amt", "total", "refund", "cost", "income", "commission", "charge", "yuan", "cents"}},
	{kind: SensitiveBuyer,
		holds: []string{"buyerid", "buyeruid", "buyerlogon", "payerid", "payeruid", "payeeid", "payeeuid", "alipayuid",
			"userid", "useruid", "logonid", "loginid", "memberid", "customerid"}},
	{kind: SensitiveTexts,
		holds: []string{"goods", "productname", "itemname", "attach", "passback", "commonparam", "subject", "remark", "memo", "comment", "description"},
		ends:  []string{"title"}},
	{kind: SensitiveNames,
		holds: []string{"phone", "mobile", "mail", "addr", "account", "accout", "cardno", "cardnum", "bankcard", "idcard", "identity", "certno",
			"passport", "nick", "username", "realname", "truename", "buyername", "payername", "payeename", "receivername", "contact",
			"consignee", "birth", "payerinfo", "payeeinfo", "buyerinfo", "userinfo"},
		ends: []string{"name", "names", "tel", "telno", "telnumber", "idno", "idnumber", "clientip", "createip", "userip", "payerip", "deviceip"}},
}
