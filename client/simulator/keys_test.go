package simulator_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/notifyd/notifyd/client/simulator"
)

// testKeys are made once: four RSA keys take a second.
var testKeys = sync.OnceValues(simulator.NewKeys)

func keysFor(t testing.TB) *simulator.Keys {
	t.Helper()
	k, err := testKeys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func saved(t *testing.T) (*simulator.Keys, string) {
	t.Helper()
	k, dir := keysFor(t), filepath.Join(t.TempDir(), "simulator")
	if err := k.Save(dir); err != nil {
		t.Fatal(err)
	}
	return k, dir
}

func TestKeysComeBackAsTheyWereSaved(t *testing.T) {
	k, dir := saved(t)
	again, err := simulator.LoadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]*rsa.PrivateKey{
		"platform": {k.Platform.Private, again.Platform.Private}, "next platform": {k.NextPlatform.Private, again.NextPlatform.Private},
		"public key": {k.PublicKey.Private, again.PublicKey.Private}, "alipay": {k.Alipay, again.Alipay},
	} {
		if !pair[0].Equal(pair[1]) {
			t.Errorf("the %s key has changed", name)
		}
	}
	if k.Platform.Serial != again.Platform.Serial || k.NextPlatform.Serial != again.NextPlatform.Serial || k.PublicKey.ID != again.PublicKey.ID {
		t.Errorf("ids: %s %s %s, want %s %s %s", again.Platform.Serial, again.NextPlatform.Serial, again.PublicKey.ID,
			k.Platform.Serial, k.NextPlatform.Serial, k.PublicKey.ID)
	}
	if !bytes.Equal(k.Platform.PEM, again.Platform.PEM) {
		t.Error("the certificate has changed")
	}
}

func TestKeysHaveTheProvidersForm(t *testing.T) {
	k := keysFor(t)
	for _, c := range []simulator.Certificate{k.Platform, k.NextPlatform} {
		block, _ := pem.Decode(c.PEM)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^[0-9A-F]{40}$`).MatchString(c.Serial) || !strings.EqualFold(cert.SerialNumber.Text(16), c.Serial) {
			t.Errorf("serial %q, the certificate has %x", c.Serial, cert.SerialNumber)
		}
	}
	if k.Platform.Serial == k.NextPlatform.Serial {
		t.Error("both certificates have one serial")
	}
	if !regexp.MustCompile(`^PUB_KEY_ID_[0-9]{21}$`).MatchString(k.PublicKey.ID) {
		t.Errorf("id %q", k.PublicKey.ID)
	}
}

func TestSavedKeysAreTheirOwnersAlone(t *testing.T) {
	_, dir := saved(t)
	if mode := stat(t, dir).Mode().Perm(); mode != 0o700 {
		t.Errorf("the folder has mode %o", mode)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 8 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if mode := stat(t, path).Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", e.Name(), mode)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), simulator.Mark+"\n-----BEGIN ") {
			t.Errorf("%s is not marked", e.Name())
		}
	}
}

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestSaveWritesOverNothing(t *testing.T) {
	k, dir := saved(t)
	if err := k.Save(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("saved over keys: %v", err)
	}
}

func TestLoadKeysRefuses(t *testing.T) {
	if _, err := simulator.LoadKeys(t.TempDir()); !errors.Is(err, simulator.ErrNoKeys) || !strings.Contains(err.Error(), "notifyd init --test") {
		t.Errorf("an empty folder: %v", err)
	}
	for _, c := range []struct {
		name, file, want string
		change           func(text, other []byte) []byte
	}{
		{"a key of a real business", "alipay_private.pem", "is not marked as a throw-away key", func(text, _ []byte) []byte {
			return bytes.TrimPrefix(text, []byte(simulator.Mark))
		}},
		{"something else", "wechat_platform_private.pem", "holds no PEM block PRIVATE KEY", func([]byte, []byte) []byte {
			return []byte(simulator.Mark + "\n")
		}},
		{"no id", "wechat_public_key_private.pem", "names no Public-Key-Id", func(text, _ []byte) []byte {
			return regexp.MustCompile(`Public-Key-Id: .*\n\n`).ReplaceAll(text, nil)
		}},
		{"a short key", "alipay_private.pem", "holds a key of 1024 bits, with which no provider signs", func([]byte, []byte) []byte {
			key, err := rsa.GenerateKey(rand.Reader, 1024)
			if err != nil {
				t.Fatal(err)
			}
			der, err := x509.MarshalPKCS8PrivateKey(key)
			if err != nil {
				t.Fatal(err)
			}
			return append([]byte(simulator.Mark+"\n"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...)
		}},
		{"another key's certificate", simulator.PlatformCertFile, "is not the certificate of the key", func(_, other []byte) []byte { return other }},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, dir := saved(t)
			path := filepath.Join(dir, c.file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			other, err := os.ReadFile(filepath.Join(dir, simulator.NextPlatformCertFile))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.change(text, other), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := simulator.LoadKeys(dir); err == nil || !strings.Contains(err.Error(), path+" "+c.want) {
				t.Errorf("%v, want %s %s", err, path, c.want)
			}
		})
	}
}
