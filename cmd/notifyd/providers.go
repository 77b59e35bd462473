package main

import (
	"errors"
	"maps"
	"slices"

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
	// sensitive says of the fields of its messages what a redacted capture must
	// not show.
	sensitive func() map[string]provider.Sensitive
}

// providers are the payment providers by the name that an account gives. A
// further one is one line here.
func providers() map[string]builder {
	return map[string]builder{
		"alipay": builds(alipay.New, alipay.Explanations, alipay.Sensitive),
		"wechat": builds(wechat.New, wechat.Explanations, wechat.Sensitive),
	}
}

// sensitive is of all providers: a capture does not say which one sent it.
func sensitive() (all []map[string]provider.Sensitive) {
	known := providers()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		all = append(all, known[name].sensitive())
	}
	return all
}

// builds makes a builder of an adapter's constructor and of what it says of itself.
func builds[Options any, Adapter provider.Provider](make func(Options, provider.Env) (Adapter, error),
	explain func() []provider.Explanation, sensitive func() map[string]provider.Sensitive) builder {
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
	return builder{build, explain, sensitive}
}
