package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/doctor"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider/forge"
	"github.com/notifyd/notifyd/internal/store"
)

// clinic is a whole installation: accounts of two providers, four weeks of
// notifications, a running server, and a proxy with TLS in front of it.
type clinic struct {
	shop
	proxy  *httptest.Server
	served *served
	asked  []string // what doctor is told besides
	now    func() time.Time
	disk   *store.Disk // nil: the one on which it lies
}

// illness says what is wrong with an installation. The zero value is nothing.
type illness struct {
	store       string // the store's URL; "": SQLite
	certificate []byte // WeChat Pay's, instead of a good one
	files       map[string][]byte
	lastHeard   time.Duration // how long ago the last notification came
	proxy       func(http.Handler) http.Handler
	leafOnly    bool // the proxy sends its own certificate alone
	noServer    bool
	options     string // further ones, in YAML
}

func admit(t *testing.T, ill illness) *clinic {
	t.Helper()
	if ill.store == "" {
		ill.store = "sqlite:n.db"
	}
	if ill.certificate == nil {
		ill.certificate = forge.WechatCertificatePEM()
	}
	c := &clinic{shop: newShop(t, ill.store), now: time.Now, disk: &store.Disk{Path: "/data", FreeBytes: 1 << 40}}
	chain, root := authority(t)
	if ill.leafOnly {
		chain.Certificate = chain.Certificate[:1]
	}
	c.write(t, "root.pem", root)
	var target *url.URL
	front := http.Handler(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	if ill.proxy != nil {
		front = ill.proxy(front)
	}
	c.proxy = httptest.NewUnstartedServer(front)
	c.proxy.TLS = &tls.Config{Certificates: []tls.Certificate{chain}}
	c.proxy.Config.ErrorLog = quiet()
	c.proxy.StartTLS()
	t.Cleanup(c.proxy.Close)
	c.write(t, "wechat.pem", ill.certificate)
	c.write(t, "notifyd.yaml", fmt.Appendf(nil, `
listen: "127.0.0.1:0"
public_url: %q
admin: {listen: "127.0.0.1:0", token: throw-away-token}
store: %q
accounts:
  - name: wechat
    provider: wechat
    mchid: "1600000001"
    appids: ["wxtest0000000001"]
    api_v3_key: %q
    certificates: [{file: wechat.pem}]
  - {name: alipay, provider: alipay, app_id: "2021000000000001", public_keys: [{file: alipay.pem}]}
%s`, c.proxy.URL, ill.store, forge.WechatV3Key, ill.options))
	for name, text := range ill.files {
		c.write(t, name, text)
	}
	c.remember(t, ill)
	if !ill.noServer {
		c.served = c.serve(t)
		t.Cleanup(func() { c.served.stop(t) })
		target, _ = url.Parse(c.served.public)
		c.asked = []string{"--server", c.served.private}
	}
	return c
}

// remember puts four weeks of notifications into the store, one each five hours
// or so, up to the last.
func (c *clinic) remember(t *testing.T, ill illness) {
	t.Helper()
	at := strings.Replace(ill.store, "sqlite:", "sqlite:"+c.dir+"/", 1)
	db, err := store.Open(at, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := db.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rows []order.Row
	end := time.Now().Add(-max(ill.lastHeard, time.Minute))
	for at, n := end, 0; time.Since(at) < 27*24*time.Hour; at, n = at.Add(-5*time.Hour), n+1 {
		for i, account := range []string{"wechat", "alipay"} {
			r := order.Row{ID: firstID(at)[:len("ntf_")+10] + fmt.Sprintf("%016d", n*2+i), ReceivedAt: at, Provider: account, Account: account, Merchant: "default",
				Kind: order.KindOther, Outcome: order.Unhandled, Copies: 1, Capture: order.Capture{RequestLine: "POST / HTTP/1.1"}}
			copy(r.FactKey[:], fmt.Sprintf("fact-%027d", n*2+i))
			rows = append(rows, r)
		}
	}
	err = db.Transact(t.Context(), order.Want{}, func(*order.Found) (*order.Changes, error) { return &order.Changes{Notifications: rows}, nil })
	if err != nil {
		t.Fatal(err)
	}
}

// doctor runs the command and reads its report.
func (c *clinic) doctor(t *testing.T, args ...string) (int, doctorReport) {
	t.Helper()
	code, out, said := c.runUntil(t.Context(), append([]string{"--json"}, args...)...)
	var r doctorReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("exit code %d, %v\n%s\n%s", code, err, out, said)
	}
	return code, r
}

// runUntil runs the command until it ends or ctx does.
func (c *clinic) runUntil(ctx context.Context, args ...string) (code int, out, said string) {
	var o, e bytes.Buffer
	a := &app{stdio: stdio{in: strings.NewReader(""), out: &o, err: &e}, env: noEnv, now: c.now}
	if c.disk != nil {
		a.disk = func(string) (*store.Disk, error) { d := *c.disk; return &d, nil }
	}
	args = append([]string{"doctor", "--config", c.file, "--ca", filepath.Join(c.dir, "root.pem")}, append(c.asked, args...)...)
	code = a.run(ctx, args)
	return code, o.String(), e.String()
}

// unwell are the checks that are neither ok nor skipped, each once.
func unwell(r doctorReport) string {
	var names []string
	for _, l := range r.Lines {
		if l.Status != doctor.OK && l.Status != doctor.Skipped && (len(names) == 0 || names[len(names)-1] != l.Check) {
			names = append(names, l.Check)
		}
	}
	return strings.Join(names, " ")
}

func linesOf(r doctorReport, check string) (texts []string) {
	for _, l := range r.Lines {
		if l.Check == check {
			texts = append(texts, fmt.Sprintf("%s %s: %s", l.Status, l.Subject, l.Text))
		}
	}
	return texts
}

// authority makes a chain for 127.0.0.1 (leaf, intermediate) and its root. The
// keys are thrown away with the test.
func authority(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	issue := func(name string, serial int64, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, BasicConstraintsValid: true,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(60 * 24 * time.Hour), IsCA: name != "leaf",
			KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
		if name == "leaf" {
			c.IPAddresses = httptestAddresses
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}
		if parent == nil {
			parent, signer = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		made, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return made, key
	}
	root, rootKey := issue("throw-away root", 1, nil, nil)
	middle, middleKey := issue("throw-away intermediate", 2, root, rootKey)
	leaf, leafKey := issue("leaf", 3, middle, middleKey)
	return tls.Certificate{Certificate: [][]byte{leaf.Raw, middle.Raw}, PrivateKey: leafKey},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Raw})
}

// elsewhere is a server with a plain handler.
func elsewhere(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}

// httptestAddresses are where httptest listens.
var httptestAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}

// quiet is for servers whose peers break off on purpose.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// closedPort is an address at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// await asks again until something is so.
func await(t *testing.T, so func() bool) {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it never was so")
		}
	}
}
