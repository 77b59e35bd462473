package main

import (
	"bytes"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/config"
)

// tokenVariable is the environment variable that holds the admin token.
const tokenVariable = "NOTIFYD_ADMIN_TOKEN"

// reach says where the server is and with which token it is asked: both from its
// configuration file, or named by hand.
type reach struct {
	config, server, tokenFile string
	asJSON                    bool
}

// flags adds the flags to a command and all below it.
func (r *reach) flags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringVar(&r.config, "config", defaultConfig, "configuration `file` of the server: its admin.listen and admin.token are used")
	f.StringVar(&r.server, "server", "", "`URL` of the private listener, instead of the one in the configuration")
	f.StringVar(&r.tokenFile, "token-file", "", "`file` with the admin token (or set "+tokenVariable+")")
	f.BoolVar(&r.asJSON, "json", false, "print the JSON of the admin API")
}

// again is what a printed command needs besides, to ask the same server in the
// same way: "" for the usual configuration, else flags with a space before them.
func (r *reach) again() string {
	flags := ""
	if r.config != defaultConfig && r.server == "" {
		flags += " --config " + shellWord(r.config)
	}
	if r.server != "" {
		flags += " --server " + shellWord(r.server)
	}
	if r.tokenFile != "" {
		flags += " --token-file " + shellWord(r.tokenFile)
	}
	return flags
}

// client makes a client of the server. The configuration is read only as far as
// it is needed: key files may be on another machine.
func (r *reach) client(a *app) (*adminClient, error) {
	token, err := r.token(a)
	if err != nil {
		return nil, err
	}
	if r.server != "" {
		if token == "" {
			return nil, exitWith(exitUsage, "with --server the token is needed too: --token-file FILE or %s", tokenVariable)
		}
		base, err := serverURL(r.server)
		if err != nil {
			return nil, err
		}
		return newAdminClient(base, token), nil
	}
	conf, report := config.Load(r.config, a.env)
	if !report.OK() {
		a.printFindings(&config.Report{Errors: report.Errors})
		return nil, exitWith(exitConfig, "%s cannot be used: %s. Without it: --server URL with --token-file FILE", r.config, count(len(report.Errors), "error"))
	}
	if token == "" {
		token = conf.Admin.Token
	}
	if token == "" {
		return nil, exitWith(exitConfig, "%s sets no admin.token: the admin API lets nobody in", r.config)
	}
	base, err := listenURL(conf.Admin.Listen)
	if err != nil {
		return nil, err
	}
	return newAdminClient(base, token), nil
}

// token is the one that was named by hand; "" when none was.
func (r *reach) token(a *app) (config.Secret, error) {
	if r.tokenFile == "" {
		token, _ := a.env(tokenVariable)
		return checkToken(tokenVariable, token)
	}
	text, err := readAtMost(r.tokenFile, maxKeyFileBytes)
	if err != nil {
		return "", exitWith(exitUsage, "the token file %s cannot be read: %w", r.tokenFile, err)
	}
	text = bytes.TrimRight(text, "\r\n")
	if len(text) == 0 {
		return "", exitWith(exitUsage, "the token file %s is empty", r.tokenFile)
	}
	return checkToken("the token file "+r.tokenFile, string(text))
}

// checkToken refuses what cannot stand in a header.
func checkToken(where, token string) (config.Secret, error) {
	if strings.ContainsFunc(token, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return "", exitWith(exitUsage, "%s holds more than one line or a control character: a token is one line of text", where)
	}
	return config.Secret(token), nil
}

func serverURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", exitWith(exitUsage, "--server must be a URL like http://127.0.0.1:8081")
	}
	return u.String(), nil
}

// listenURL is where a listener of this machine is reached.
func listenURL(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return "", exitWith(exitUsage, "admin.listen is %s, which does not say where the server is: use --server URL, see its line \"notifyd ready\"", listen)
	}
	if address, err := netip.ParseAddr(host); host == "" || err == nil && address.IsUnspecified() {
		host = "127.0.0.1" // a listener on all addresses is on this one
		if err == nil && address.Is6() {
			host = "::1"
		}
	}
	return "http://" + net.JoinHostPort(host, port), nil
}
