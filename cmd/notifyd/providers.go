package main

import (
	"errors"

	"github.com/notifyd/notifyd/internal/alipay"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/wechat"
)

// builder makes the provider of one account: decode fills its options.
type builder func(decode func(into any) error, env provider.Env) (provider.Provider, error)

// providers are the payment providers by the name that an account gives. A
// further one is one line here.
func providers() map[string]builder {
	return map[string]builder{
		"alipay": builds(alipay.New),
		"wechat": builds(wechat.New),
	}
}

// sensitive says of the fields of all providers' messages what a redacted
// capture must not show.
func sensitive() []map[string]provider.Sensitive {
	return []map[string]provider.Sensitive{alipay.Sensitive(), wechat.Sensitive()}
}

// builds makes a builder of an adapter's constructor.
func builds[Options any, Adapter provider.Provider](make func(Options, provider.Env) (Adapter, error)) builder {
	return func(decode func(any) error, env provider.Env) (provider.Provider, error) {
		var options Options
		unread := decode(&options)
		// What could be read is tried as well, so that one run finds all faults.
		adapter, err := make(options, env)
		if err := errors.Join(unread, err); err != nil {
			return nil, err // not the adapter: a nil of its type is not a nil Provider
		}
		return adapter, nil
	}
}
