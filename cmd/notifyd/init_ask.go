package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/notifyd/notifyd/internal/alipay"
	"github.com/notifyd/notifyd/internal/wechat"
)

// interactive says whether somebody is there who can be asked: questions go to
// stderr, answers come from stdin, and both have to be a terminal.
func (a *app) interactive() bool {
	return isTerminal(a.in) && isTerminal(a.err)
}

// question is one thing that init wants to know.
type question struct {
	flag, text string
	into       *string
	when       func() bool        // nil: always
	check      func(string) error // nil: the configuration as a whole is checked at the end
}

// ask asks for what no flag says. An empty answer leaves it as it is.
func (s *setup) ask(ctx context.Context, a *app, given func(flag string) bool) error {
	appids := strings.Join(s.Wechat.AppIDs, ",")
	wechat := func() bool { return s.Wechat.Number != "" }
	alipay := func() bool { return s.Alipay.Number != "" }
	keyed := func() bool { return wechat() && s.Wechat.keyFile != "" }
	readable := func(path string) error {
		_, err := readKeyFile(path)
		return err
	}
	a.tell("Questions, with an empty answer for what you do not know yet.")
	lines := bufio.NewReader(a.in)
	for _, q := range []question{
		{"public-url", "URL at which the providers reach this server, like https://pay.example.com", &s.PublicURL, nil, nil},
		{"mchid", "WeChat Pay: merchant number (mchid)", &s.Wechat.Number, nil, usual("mchid")},
		{"appid", "WeChat Pay: appid (several: with commas)", &appids, wechat, usual("appid")},
		{"wechat-key", "WeChat Pay: file with its public key (from the console, API security)", &s.Wechat.keyFile, wechat, readable},
		{"wechat-key-id", "WeChat Pay: id of that key (PUB_KEY_ID_…)", &s.Wechat.KeyID, keyed, nil},
		{"api-v3-key", "WeChat Pay: file with the APIv3 key that is set there (empty: a new one is made)", &s.Wechat.v3KeyFile, wechat, usableV3Key},
		{"alipay-app-id", "Alipay: app_id", &s.Alipay.Number, nil, usual("alipay-app-id")},
		{"alipay-seller-id", "Alipay: seller_id (2088…)", &s.Alipay.SellerID, alipay, usual("alipay-seller-id")},
		{"alipay-key", "Alipay: file with Alipay's public key (not your application's)", &s.Alipay.keyFile, alipay, readable},
	} {
		if given(q.flag) || q.when != nil && !q.when() {
			continue
		}
		answer, err := a.answer(ctx, lines, q)
		if err != nil {
			return err
		}
		if answer != "" {
			*q.into = answer
		}
	}
	s.Wechat.AppIDs = splitList(appids)
	return s.clear() // an answer may have named one more file
}

// splitList takes apart a list that was typed in one line.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// usual is the check of the numbers that a flag gives. A mistyped one would be
// noticed only when the first notification is refused.
func usual(flag string) func(answer string) error {
	return func(answer string) error {
		for _, one := range splitList(answer) {
			doubt := ""
			switch flag {
			case "mchid", "appid":
				doubt = wechat.Doubt(flag, one)
			case "alipay-app-id":
				doubt = alipay.Doubt("app_id", one)
			case "alipay-seller-id":
				doubt = alipay.Doubt("seller_id", one)
			}
			if doubt != "" {
				return exitWith(exitUsage, "--%s: %s", flag, doubt)
			}
		}
		return nil
	}
}

// answer asks until the answer is empty or good.
func (a *app) answer(ctx context.Context, lines *bufio.Reader, q question) (string, error) {
	for {
		answer, err := a.readLine(ctx, lines, q.text)
		if err != nil || answer == "" || q.check == nil {
			return answer, err
		}
		if wrong := q.check(answer); wrong != nil {
			a.tell("%v", wrong)
			continue
		}
		return answer, nil
	}
}

// readLine reads one line. A signal ends the wait for it.
func (a *app) readLine(ctx context.Context, lines *bufio.Reader, text string) (string, error) {
	fmt.Fprintf(a.err, "%s: ", text)
	type read struct {
		line string
		err  error
	}
	came := make(chan read, 1) // the reader outlives a signal, and then the process ends
	go func() {
		line, err := lines.ReadString('\n')
		came <- read{line, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.err)
		return "", ctx.Err()
	case r := <-came:
		if r.err != nil && r.line == "" {
			fmt.Fprintln(a.err)
			return "", exitWith(exitUsage, "the questions were not answered to the end. Nothing was written")
		}
		return strings.TrimSpace(r.line), nil
	}
}
