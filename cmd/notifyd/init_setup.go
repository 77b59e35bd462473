package main

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"text/template"

	"github.com/notifyd/notifyd/client/simulator"
)

// setup is what init writes: the answers, and what was made for them.
type setup struct {
	dir                                   string
	Test                                  bool
	PublicURL, Listen, AdminListen, Store string
	Wechat                                wechatSetup
	Alipay                                alipaySetup

	files []newFile
	keys  *simulator.Keys // of the simulated provider; nil without Test
}

// accountSetup is what both kinds of accounts have.
type accountSetup struct {
	Ready   bool   // everything is there: the account can be used
	Number  string // mchid or app_id
	Whose   string // what stands beside the number
	KeyPath string // where the provider's key stands, from the configuration
	keyFile string // where it is copied from

	given   bool     // a flag or an answer says something of it
	missing []string // the flags that would have made it ready
}

// wants notes what is missing of an account: flags, and what they say.
func (s *accountSetup) wants(said ...[2]string) {
	for _, one := range said {
		if one[1] == "" {
			s.missing = append(s.missing, one[0])
		} else {
			s.given = true
		}
	}
	s.Ready = len(s.missing) == 0
}

type wechatSetup struct {
	accountSetup
	AppIDs           []string
	SubMchIDs        []string
	KeyID            string
	CertificatePaths []string
	V2Note, V3Note   string
	v3KeyFile        string
}

type alipaySetup struct {
	accountSetup
	SellerID   string
	AuthAppIDs []string
	AESNote    string
}

// newFile is a file that is to be written.
type newFile struct {
	name string // with slashes, below the folder
	text []byte
	what string // for people
}

// Numbers that stand in the lines of an account that is not complete.
const (
	exampleMchID, exampleAppID = "1900000001", "wx8888888888888888"
	exampleKeyID               = "PUB_KEY_ID_0117"
	exampleAliApp              = "2021000000000000"
)

// The accounts of init --test. No real ones: they are the demo's, and so are the
// merchants that these act for.
const (
	madeUp        = "made up: no provider knows it"
	madeUpSubMch  = "1600000109"
	madeUpAuthApp = "2021000000000109"
)

// testKeysFolder is where simulate looks for its keys.
const testKeysFolder = "simulator"

// A folder with this file is not seen by Git, wherever the configuration is kept:
// secrets, and a database with other people's orders, have no place in it.
const secretsFolder, ignoreFile = "secrets", "/.gitignore"

var ignoreAll = []byte("*\n")

// complete makes the secrets and the text of the configuration.
func (s *setup) complete() (err error) {
	if s.Listen == "" {
		s.Listen = ":8080"
		if s.Test {
			s.Listen = "127.0.0.1:8080"
		}
	}
	s.add("secrets/admin_token", freshSecret(), "opens the admin API")
	s.add("secrets/api_key_k1", freshSecret(), "signs your requests to the merchant API, key id k1")
	if s.Test {
		err = s.useSimulator()
	} else {
		err = s.useAnswers()
	}
	if err != nil {
		return err
	}
	s.add(secretsFolder+ignoreFile, ignoreAll, "keeps this folder out of Git")
	s.add("data"+ignoreFile, ignoreAll, "keeps this folder out of Git")
	text, err := s.configText()
	if err != nil {
		return err
	}
	s.files = append([]newFile{{configName, text, "the configuration, with comments"}}, s.files...)
	return nil
}

func (s *setup) add(name string, text []byte, what string) {
	s.files = append(s.files, newFile{name, text, what})
}

// freshSecret is a fresh secret of 256 bits.
func freshSecret() []byte {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return []byte(hex.EncodeToString(b[:]) + "\n")
}

// wechatKeyText is a fresh key of the 32 characters that WeChat Pay asks for; it
// begins with mark. Each of the others has five bits.
func wechatKeyText(mark string) []byte {
	const length = 32
	return []byte((mark + rand.Text() + rand.Text())[:length] + "\n")
}

// aesKeyText is a fresh key as Alipay's console shows one.
func aesKeyText() []byte {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return []byte(base64.StdEncoding.EncodeToString(b[:]) + "\n")
}

// useSimulator makes accounts that the simulator can sign for.
func (s *setup) useSimulator() (err error) {
	if s.keys, err = simulator.NewKeys(); err != nil {
		return err
	}
	const mark, note = "TestOnly", "throw-away, made by notifyd init --test"
	s.add("secrets/api_v3_key", wechatKeyText(mark), "throw-away APIv3 key")
	s.add("secrets/api_v2_key", wechatKeyText(mark), "throw-away v2 key")
	s.add("secrets/alipay_aes_key", aesKeyText(), "throw-away content key of Alipay")
	s.Wechat = wechatSetup{
		accountSetup: accountSetup{Ready: true, Number: demoMchID, Whose: madeUp, KeyPath: testKeysFolder + "/" + simulator.PublicKeyFile},
		AppIDs:       []string{demoAppID}, SubMchIDs: []string{madeUpSubMch}, KeyID: s.keys.PublicKey.ID, V2Note: note, V3Note: note,
		CertificatePaths: []string{testKeysFolder + "/" + simulator.PlatformCertFile, testKeysFolder + "/" + simulator.NextPlatformCertFile},
	}
	s.Alipay = alipaySetup{
		accountSetup: accountSetup{Ready: true, Number: demoAliApp, Whose: madeUp, KeyPath: testKeysFolder + "/" + simulator.AlipayPublicKeyFile},
		SellerID:     demoSellerID, AuthAppIDs: []string{madeUpAuthApp}, AESNote: note,
	}
	return nil
}

// useAnswers turns answers into accounts. An account that lacks something is
// written all the same, as comments.
func (s *setup) useAnswers() error {
	w, ali := &s.Wechat, &s.Alipay
	w.wants([2]string{"mchid", w.Number}, [2]string{"appid", strings.Join(w.AppIDs, "")},
		[2]string{wechatKeyFlag, w.keyFile}, [2]string{"wechat-key-id", w.KeyID})
	ali.wants([2]string{"alipay-app-id", ali.Number}, [2]string{alipayKeyFlag, ali.keyFile})
	w.Whose, ali.Whose = "from the WeChat Pay console", "from the Alipay console"
	w.Number, w.KeyID, ali.Number = orElse(w.Number, exampleMchID), orElse(w.KeyID, exampleKeyID), orElse(ali.Number, exampleAliApp)
	if len(w.AppIDs) == 0 {
		w.AppIDs = []string{exampleAppID}
	}
	w.KeyPath, ali.KeyPath = "keys/wechatpay_pub.pem", "keys/alipay_public_key.pem"
	w.V3Note = "made by notifyd init: set it at WeChat Pay, or put yours here"
	v3 := newFile{"secrets/api_v3_key", wechatKeyText(""), "a new APIv3 key, 32 characters: set it at WeChat Pay, or put yours here"}
	if w.v3KeyFile != "" {
		if err := usableV3Key(w.v3KeyFile); err != nil {
			return err
		}
		w.V3Note = "copied from " + shown(w.v3KeyFile)
		v3 = newFile{name: v3.name, what: "the APIv3 key, a copy"}
	}
	copies := []struct {
		from string
		to   newFile
	}{
		{w.v3KeyFile, v3},
		{w.keyFile, newFile{name: w.KeyPath, what: "the public key of WeChat Pay, a copy"}},
		{ali.keyFile, newFile{name: ali.KeyPath, what: "the public key of Alipay, a copy"}},
	}
	for _, c := range copies {
		if c.from != "" {
			text, err := readKeyFile(c.from)
			if err != nil {
				return err
			}
			c.to.text = text
		}
		if c.to.text != nil {
			s.files = append(s.files, c.to)
		}
	}
	return nil
}

// The flags of the keys, without which an account proves nothing.
const wechatKeyFlag, alipayKeyFlag = "wechat-key", "alipay-key"

// v3KeyBytes is how long WeChat Pay's APIv3 key is: a key of AES-256.
const v3KeyBytes = 32

// usableV3Key looks into the file of an APIv3 key before it is copied: the
// content is never shown.
func usableV3Key(path string) error {
	text, err := readKeyFile(path)
	if err != nil {
		return err
	}
	key := bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	if len(key) != v3KeyBytes {
		return exitWith(exitUsage, "%s is no APIv3 key: it has %d bytes, and an APIv3 key has %d", path, len(key), v3KeyBytes)
	}
	return nil
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func readKeyFile(path string) ([]byte, error) {
	text, err := readAtMost(path, maxKeyFileBytes)
	switch {
	case err != nil:
		return nil, exitWith(exitUsage, "the key file %s cannot be read: %w", path, err)
	case len(text) == 0:
		return nil, exitWith(exitUsage, "%s is no key file: it is empty", path)
	}
	return text, nil
}

//go:embed setup/notifyd.yaml.tmpl
var setupTemplate string

// configText is the configuration.
func (s *setup) configText() ([]byte, error) {
	t := template.New("notifyd.yaml")
	block := func(name string) func(any) (string, error) {
		return func(of any) (string, error) {
			var b bytes.Buffer
			err := t.ExecuteTemplate(&b, name, of)
			return b.String(), err
		}
	}
	t.Funcs(template.FuncMap{
		"quote": yamlText, "noted": noted, "unless": unless, "wechat": block("wechat"), "alipay": block("alipay"),
		"quoted": func(all []string) string {
			texts := make([]string, len(all))
			for i, one := range all {
				texts[i] = yamlText(one)
			}
			return strings.Join(texts, ", ")
		},
		"mute": func(yes bool) string {
			if yes {
				return "# "
			}
			return ""
		},
	})
	var b bytes.Buffer
	if _, err := t.Parse(setupTemplate); err != nil {
		return nil, err
	}
	if err := t.Execute(&b, s); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// yamlText quotes a text for YAML, whose double quotes read what Go's do.
func yamlText(s string) string { return fmt.Sprintf("%q", s) }

// noted puts what an option means beside it.
func noted(option, note string) string {
	const column = 40
	return fmt.Sprintf("%-*s # %s", column, option, note)
}

// unless turns a block into comments when it cannot be used yet.
func unless(ready bool, block string) string {
	if ready {
		return block
	}
	// Two ## as before all words: whoever takes "# " away from the whole block, this
	// line with it, is left with a comment here and options below.
	head := "  ## Put in your numbers and the key, and take \"# \" away from these lines:\n"
	var b strings.Builder
	b.WriteString(head)
	for line := range strings.Lines(block) {
		b.WriteString("  # " + strings.TrimPrefix(line, "  "))
	}
	return b.String()
}
