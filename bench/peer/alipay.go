package peer

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/notifyd/notifyd/bench/account"
)

var beijing = time.FixedZone("+08:00", 8*60*60)

// readableForm gives the request a media type that can be read: what Alipay sends
// has two, and net/http reads such a form but reports an error.
func readableForm(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }

// alipayFact reads the fields of a trade whose signature holds: whose it is,
// what it says, how much.
func alipayFact(get func(string) string) (fact, error) {
	if get("app_id") != account.AliAppID || get("seller_id") != account.AliSeller || get("trade_status") != "TRADE_SUCCESS" {
		return fact{}, errNotProven
	}
	txn := get("trade_no")
	f := fact{Provider: "alipay", Key: "paid/" + txn, OutTradeNo: get("out_trade_no"), TxnID: txn}
	amount, at := get("total_amount"), get("gmt_payment")
	if refund := get("refund_fee"); refund != "" {
		f.Key, f.Refund, f.Total = "refund/"+txn+"/"+refund, true, true
		amount, at = refund, get("gmt_refund")
	}
	var err error
	if f.AmountFen, err = fenOf(amount); err != nil {
		return fact{}, err
	}
	f.At, err = time.ParseInLocation(time.DateTime, at, beijing)
	return f, err
}

// fenOf reads yuan exactly: "10.00" is 1000.
func fenOf(yuan string) (int64, error) {
	whole, cents, _ := strings.Cut(yuan, ".")
	if len(cents) > 2 {
		return 0, fmt.Errorf("%q is no amount", yuan)
	}
	return strconv.ParseInt(whole+(cents + "00")[:2], 10, 64)
}
