package alipay

import (
	"fmt"
	"regexp"

	"github.com/notifyd/notifyd/internal/provider"
)

// The forms of the numbers that Alipay gives today. They are no rule of its
// interface, so that another form is a doubt and never an error.
var (
	usualAppID    = regexp.MustCompile(`^[0-9]{16}$`)
	usualSellerID = regexp.MustCompile(`^2088[0-9]{12}$`)
)

// Doubt says what is strange about an option's value; "" for what is usual.
func Doubt(option, value string) string {
	switch {
	case option == "app_id" && !usualAppID.MatchString(value):
		return fmt.Sprintf("%q does not look like an app_id of Alipay: those have 16 digits", value)
	case option == "seller_id" && !usualSellerID.MatchString(value):
		return fmt.Sprintf("%q does not look like a seller_id of Alipay: those are 2088 and 12 digits more", value)
	}
	return ""
}

var _ provider.Doubtful = (*Adapter)(nil)

// Doubts lists the options that look mistyped.
func (a *Adapter) Doubts() (p provider.Problems) {
	p.Doubt("app_id", Doubt("app_id", a.options.AppID))
	if a.options.SellerID != "" {
		p.Doubt("seller_id", Doubt("seller_id", a.options.SellerID))
	}
	for i, id := range a.options.AuthAppIDs {
		p.Doubt(fmt.Sprintf("auth_app_ids[%d]", i), Doubt("app_id", id))
	}
	return p
}
