package config

import (
	"encoding/base64"
	"errors"
	"net"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// checks are the tests that tags name. They return what is wrong, "" when
// nothing is, and never quote the value: it may be a secret.
var checks = map[string]func(reflect.Value) string{
	"listen":       onText(checkListen),
	"public_url":   onText(checkPublicURL),
	"endpoint_url": onText(checkEndpointURL),
	"name":         onText(checkName),
	"key_id":       onText(checkKeyID),
	"whsec":        onText(checkSigningSecret),
	"not_negative": func(v reflect.Value) string { return when(v.Int() < 0, "must not be negative") },
	"positive":     func(v reflect.Value) string { return when(v.Int() <= 0, "must be more than 0") },
}

func onText(check func(string) string) func(reflect.Value) string {
	return func(v reflect.Value) string { return check(v.String()) }
}

func when(wrong bool, text string) string {
	if wrong {
		return text
	}
	return ""
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})$`)

func checkListen(text string) string {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return `must be HOST:PORT, for instance ":8080" or "127.0.0.1:8081"`
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "the port must be a number from 0 to 65535"
	}
	// A zone is what a link-local IPv6 address needs to be one.
	address, _, _ := strings.Cut(host, "%")
	return when(host != "" && net.ParseIP(address) == nil && !hostName.MatchString(host), "the host must be an address, a name, or nothing for all addresses")
}

func checkPublicURL(text string) string {
	u, problem := checkHTTP(text)
	if problem != "" {
		return problem
	}
	return when(u.RawQuery != "" || u.ForceQuery, "must have no query: providers refuse notify URLs with one")
}

func checkEndpointURL(text string) string {
	_, problem := checkHTTP(text)
	return problem
}

func checkHTTP(text string) (*url.URL, string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, "must begin with https:// or http://"
	case u.Hostname() == "":
		return nil, "has no host"
	case u.User != nil:
		return nil, "must not hold a user or password"
	case strings.Contains(text, "#"):
		return nil, "must not have a #fragment"
	}
	return u, ""
}

// Names stand in URL paths, metrics and, for merchants, before the slash of a
// sub-merchant; 63 is what a DNS label may have.
var (
	safeName  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	safeKeyID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
)

func checkName(text string) string {
	return when(!safeName.MatchString(text), "a name is 1 to 63 of a-z, 0-9, _ and -, the first a letter or digit: it is part of URLs")
}

func checkKeyID(text string) string {
	return when(!safeKeyID.MatchString(text), "a key id is 1 to 63 of A-Z, a-z, 0-9, ., _ and -, the first a letter or digit: it is sent in a header")
}

const signingPrefix = "whsec_"

var (
	errSigningPrefix = errors.New("must begin with whsec_, for instance from: echo whsec_$(openssl rand -base64 32)")
	errSigningBase64 = errors.New("what follows whsec_ must be base64, padded, for instance from: echo whsec_$(openssl rand -base64 32)")
)

func checkSigningSecret(text string) string {
	if _, err := SigningKey(Secret(text)); err != nil {
		return err.Error()
	}
	return ""
}

// SigningKey is the key within an endpoint's secret: "whsec_" and base64.
// Source: the Standard Webhooks specification, "Signature scheme".
func SigningKey(s Secret) ([]byte, error) {
	text, ok := strings.CutPrefix(s.Reveal(), signingPrefix)
	if !ok {
		return nil, errSigningPrefix
	}
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	// The decoder passes over line ends and says where it stopped; a secret has
	// neither to offer.
	if err != nil || len(key) == 0 || strings.ContainsAny(text, "\r\n") {
		return nil, errSigningBase64
	}
	return key, nil
}
