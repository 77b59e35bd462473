package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What init makes is for its owner alone, whatever the umask of the shell.
func TestInitModes(t *testing.T) {
	for _, args := range [][]string{{"init"}, {"init", "--test"}} {
		dir := filepath.Join(t.TempDir(), "deep", "shop")
		if code, _, said := runIn(append(args, dir)...); code != exitDone {
			t.Fatalf("%v: exit code %d: %s", args, code, said)
		}
		files := 0
		err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			at, err := d.Info()
			want := fs.FileMode(setupFileMode)
			if d.IsDir() {
				want = setupFolderMode
			} else {
				files++
			}
			if got := at.Mode().Perm(); got != want {
				t.Errorf("%v: %s has mode %o, want %o", args, path, got, want)
			}
			return err
		})
		if err != nil || files < 4 {
			t.Errorf("%v: %d files, %v", args, files, err)
		}
	}
}

// No two set-ups share a secret.
func TestInitSecretsAreFresh(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"one", "two"} {
		dir := filepath.Join(t.TempDir(), name)
		if code, _, said := runIn("init", dir); code != exitDone {
			t.Fatalf("exit code %d: %s", code, said)
		}
		for _, secret := range []string{"admin_token", "api_key_k1", "api_v3_key"} {
			text, err := os.ReadFile(filepath.Join(dir, "secrets", secret))
			if err != nil {
				t.Fatal(err)
			}
			if other, taken := seen[string(text)]; taken || len(text) < 33 {
				t.Errorf("%s of %s has %d bytes and is that of %q", secret, name, len(text), other)
			}
			seen[string(text)] = name + "/" + secret
		}
	}
}

// Whoever takes the marks away from the accounts, the words above them included,
// puts keys where the lines say and takes the [] away has a configuration that
// can be used.
func TestInitCommentsAreAConfiguration(t *testing.T) {
	dir := t.TempDir()
	if code, _, said := runIn("init", dir); code != exitDone {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if err := writeKeys(filepath.Join(dir, "made")); err != nil {
		t.Fatal(err)
	}
	for to, from := range map[string]string{"wechatpay_pub.pem": "wechat_pub.pem", "alipay_public_key.pem": "alipay.pem"} {
		if err := os.Rename(filepath.Join(dir, "made", from), filepath.Join(dir, "keys", to)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "notifyd.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, accounts, found := strings.Cut(string(text), "\naccounts: []")
	if !found {
		t.Fatalf("no empty list of accounts:\n%s", text)
	}
	accounts = regexp.MustCompile(`(?m)^  # `).ReplaceAllString(accounts, "  ")
	if err := os.WriteFile(path, []byte(head+"\naccounts:"+accounts), setupFileMode); err != nil {
		t.Fatal(err)
	}
	code, out, said := runIn("check", "--config", path)
	if code != exitDone || said != "" || !strings.Contains(out, "account wechat") || !strings.Contains(out, "account alipay") {
		t.Errorf("exit code %d\n%s%s%s", code, out, said, accounts)
	}
}

// A failure in the middle leaves nothing behind but what was there before.
func TestInitLeavesNothingHalfDone(t *testing.T) {
	dir := t.TempDir()
	// A file where a folder has to be: found only while writing.
	if err := os.WriteFile(filepath.Join(dir, "data"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, said := runIn("init", dir)
	if code != exitFailed || !strings.Contains(said, "the folder "+filepath.Join(dir, "data")+" cannot be made") {
		t.Errorf("exit code %d: %s", code, said)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}
