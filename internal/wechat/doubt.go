package wechat

import (
	"fmt"
	"regexp"

	"github.com/notifyd/notifyd/internal/provider"
)

// The forms of the numbers that WeChat Pay gives today. They are no rule of its
// interface, so that another form is a doubt and never an error.
var (
	usualMchID = regexp.MustCompile(`^[0-9]{8,10}$`)
	// ww begins the id of a company at WeCom, which can be paid as well. Words
	// stand in the ids of throw-away accounts: no app has them.
	usualAppID = regexp.MustCompile(`^(w[wx][0-9a-f]{16}|wx(test|demo)[0-9]+)$`)
)

// Doubt says what is strange about an option's value; "" for what is usual.
func Doubt(option, value string) string {
	switch {
	case option == "mchid" && !usualMchID.MatchString(value):
		return fmt.Sprintf("%q does not look like a merchant number of WeChat Pay: those have 8 to 10 digits", value)
	case option == "appid" && !usualAppID.MatchString(value):
		return fmt.Sprintf("%q does not look like an app id of WeChat: those are wx and 16 digits or letters a to f", value)
	}
	return ""
}

var _ provider.Doubtful = (*Adapter)(nil)

// Doubts lists the options that look mistyped.
func (a *Adapter) Doubts() (p provider.Problems) {
	p.Doubt("mchid", Doubt("mchid", a.options.MchID))
	for i, id := range a.options.AppIDs {
		p.Doubt(fmt.Sprintf("appids[%d]", i), Doubt("appid", id))
	}
	for i, id := range a.options.SubMchIDs {
		if id != anySubMerchant {
			p.Doubt(fmt.Sprintf("sub_mchids[%d]", i), Doubt("mchid", id))
		}
	}
	return p
}
