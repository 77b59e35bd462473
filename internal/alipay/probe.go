package alipay

import (
	"net/http"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

var _ provider.Prober = (*Adapter)(nil)

// Probes are one form without a sign. Its escapes are those that a program which
// decodes and encodes forms writes otherwise: '+' and %20, small hex letters,
// characters that need no escape. See provider.Prober.
func (a *Adapter) Probes(mark string, now time.Time) []provider.Request {
	body := "notify_type=trade_status_sync&notify_id=" + mark + "&charset=utf-8&subject=%e6%94%af%E4%BB%98+a%2Bb%20%26+%3Cc%3E+%22d%22" +
		"&passback_params=%7B%22k%22%3A%22v%22%7D&empty=&app_id=" + a.options.AppID + "&body=~%2A%2a"
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}
	return []provider.Request{{Header: header, Body: []byte(body), ReceivedAt: now}}
}
