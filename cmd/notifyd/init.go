package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/config"
)

func initCommand(a *app) *cobra.Command {
	s := &setup{dir: "."}
	var asJSON bool
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a configuration, its folders and its secrets",
		Long: `init writes notifyd.yaml with comments into DIR (the folder you are in, when
left out), and beside it secrets/ with fresh secrets, keys/ for the providers'
keys and data/ for the database: folders with mode 0700, files with 0600. It
prints the notify URLs and what to do next. What exists is never written over.

An account whose number and key are given becomes part of the configuration; of
another one the lines stand there as comments. On a terminal init asks for what
no flag says; an empty answer leaves it out.

With --test it makes a set-up that works at once, on this machine and without
money: fresh throw-away keys of a simulated provider, made-up merchant numbers,
SQLite, and listeners that only this machine reaches.`,
		Example: `  notifyd init --test try          # then: notifyd serve --config try/notifyd.yaml
  notifyd init /etc/notifyd --public-url https://pay.example.com
  notifyd init shop --mchid 1900000001 --appid wx8888888888888888 \
    --wechat-key-id PUB_KEY_ID_0117 --wechat-key pub_key.pem \
    --alipay-app-id 2021000000000000 --alipay-key alipay_public_key.pem`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage, exitConfig, exitInterrupted),
		Args:        cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				s.dir = args[0]
			}
			if err := s.prepare(a, c); err != nil {
				return err
			}
			written, err := s.write()
			if err != nil {
				return err
			}
			if err := a.checkWritten(s, written); err != nil {
				return err
			}
			for _, folder := range written.open {
				a.tell("warning: %s was there, and others can look into it: chmod 700 %s", folder, shellWord(folder))
			}
			told := s.told(written)
			if asJSON {
				return a.printJSON(told)
			}
			return a.print(told.text())
		},
	}
	s.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// flags are the answers that can be given beforehand.
func (s *setup) flags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&s.Test, "test", false, "make a set-up for trying it out: throw-away keys, made-up merchant numbers")
	f.StringVar(&s.PublicURL, "public-url", "", "`URL` at which the providers reach the public listener, like https://pay.example.com")
	f.StringVar(&s.Listen, "listen", "", "`address` of the public listener (default :8080; with --test 127.0.0.1:8080)")
	f.StringVar(&s.AdminListen, "admin-listen", "127.0.0.1:8081", "`address` of the private listener")
	f.StringVar(&s.Store, "store", "sqlite:./data/notifyd.db", "database `URL`: sqlite:PATH or postgres://…; ${NAME} is put in from the environment when it is read")
	f.StringVar(&s.Wechat.Number, "mchid", "", "merchant `number` at WeChat Pay")
	f.StringSliceVar(&s.Wechat.AppIDs, "appid", nil, "appid of WeChat whose payments are yours (several: once each)")
	f.StringVar(&s.Wechat.keyFile, "wechat-key", "", "`file` with the public key of WeChat Pay; it is copied into keys/")
	f.StringVar(&s.Wechat.KeyID, "wechat-key-id", "", "`id` of that key, PUB_KEY_ID_…")
	f.StringVar(&s.Wechat.v3KeyFile, "api-v3-key", "", "`file` with the APIv3 key that is set at WeChat Pay; it is copied (default: a new one is made)")
	f.StringVar(&s.Alipay.Number, "alipay-app-id", "", "app_id of the `application` at Alipay")
	f.StringVar(&s.Alipay.SellerID, "alipay-seller-id", "", "seller_id at Alipay, a `number` that begins with 2088")
	f.StringVar(&s.Alipay.keyFile, "alipay-key", "", "`file` with the public key of Alipay; it is copied into keys/")
}

// prepare fills in what is missing: from questions, or with what tests need.
func (s *setup) prepare(a *app, c *cobra.Command) error {
	if s.Test {
		for _, name := range []string{"mchid", "appid", "wechat-key", "wechat-key-id", "api-v3-key", "alipay-app-id", "alipay-seller-id", "alipay-key"} {
			if c.Flags().Changed(name) {
				return exitWith(exitUsage, "--test makes up accounts of its own: leave --%s out, or --test", name)
			}
		}
	}
	if err := s.usualNumbers(); err != nil {
		return err
	}
	if err := s.clear(); err != nil {
		return err // before anybody answers questions for nothing
	}
	if !s.Test && a.interactive() {
		if err := s.ask(c.Context(), a, c.Flags().Changed); err != nil {
			return err
		}
	}
	return s.complete()
}

// usualNumbers looks at the numbers that flags gave.
func (s *setup) usualNumbers() error {
	for _, given := range [][2]string{
		{"mchid", s.Wechat.Number}, {"appid", strings.Join(s.Wechat.AppIDs, ",")},
		{"alipay-app-id", s.Alipay.Number}, {"alipay-seller-id", s.Alipay.SellerID},
	} {
		if err := usual(given[0])(given[1]); err != nil {
			return err
		}
	}
	return nil
}

// checkWritten holds the new configuration to what check wants. What cannot be
// used is taken away again: its faults are in the answers.
func (a *app) checkWritten(s *setup, written *writing) error {
	_, _, report := a.loadConfig(s.path(configName))
	if report.OK() {
		return nil
	}
	a.printFindings(&config.Report{Errors: report.Errors})
	return errors.Join(exitWith(exitConfig, "with these answers the configuration cannot be used: %s. Nothing was written",
		count(len(report.Errors), "error")), written.undo())
}

const configName = "notifyd.yaml"

func (s *setup) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }
