package main

import (
	"crypto/x509/pkix"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"notifyd": main})
}

// TestScripts runs the scripts in testdata/script, each in a folder of its own
// with throw-away keys in keys/.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			if err := serveSilence(env); err != nil {
				return err
			}
			return writeKeys(filepath.Join(env.WorkDir, "keys"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "captures": copyCaptures, "serving": serving,
			"simulated": simulatedShop, "cheating": cheating, "interrupted": interrupted, "onterminal": onTerminal,
			"kept": awaitKept, "id": takeID},
	})
}

// exits runs a program and wants its exit code: exits 3 notifyd check.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = itoa(exit.ExitCode())
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

func writeKeys(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tenpay := forge.Cert{Subject: pkix.Name{CommonName: "Tenpay.com sign"}, Issuer: pkix.Name{CommonName: "Tenpay.com Root CA"}, SerialHex: "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"}
	for name, text := range map[string][]byte{
		"alipay.pem":       forge.AlipayKey.PublicPEM(),
		"alipay_bare.txt":  []byte(forge.AlipayKey.PublicBase64()),
		"wechat_pub.pem":   forge.WechatPublicKey.PublicPEM(),
		"platform.pem":     forge.PlatformKey.CertificatePEM(tenpay),
		"own_public.txt":   []byte(forge.MerchantKey.PublicBase64()),
		"private.pem":      forge.MerchantKey.PrivatePEM(),
		"api_v2_key":       []byte("ThrowAwayKeyForTests000000000001\n"),
		"api_v3_key":       []byte("ThrowAwayKeyForTests000000000002\n"),
		"short_api_v3_key": []byte("TooShort\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
