package main

import (
	"errors"

	"github.com/notifyd/notifyd/internal/alipay"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/wechat"
)

// builder is what the program knows of a provider.
type builder struct {
	// build makes the provider of one account: decode fills its options.
	build func(decode func(into any) error, env provider.Env) (provider.Provider, error)
	// explain lists what its codes mean.
	explain func() []provider.Explanation
}

// providers are the payment providers by the name that an account gives. A
// further one is one line here.
func providers() map[string]builder {
	return map[string]builder{
		"alipay": builds(alipay.New, alipay.Explanations),
		"wechat": builds(wechat.New, wechat.Explanations),
	}
}

// builds makes a builder of an adapter's constructor and explanations.
func builds[Options any, Adapter provider.Provider](make func(Options, provider.Env) (Adapter, error), explain func() []provider.Explanation) builder {
	build := func(decode func(any) error, env provider.Env) (provider.Provider, error) {
		var options Options
		unread := decode(&options)
		// What could be read is tried as well, so that one run finds all faults.
		adapter, err := make(options, env)
		if err := errors.Join(unread, err); err != nil {
			return nil, err // not the adapter: a nil of its type is not a nil Provider
		}
		return adapter, nil
	}
	return builder{build, explain}
}
