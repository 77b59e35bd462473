package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/alipay"
	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/wechat"
)

// simulatorFolder lies beside the configuration file and holds the keys of the
// simulated provider.
const simulatorFolder = "simulator"

// simulated is an account as its simulated provider sees it.
type simulated struct {
	simulator.Account
	protocols []simulator.Protocol // those for which it has keys
	keyFiles  []string             // of the provider's public halves
}

// keyring is where keys are read and what they are.
type keyring struct {
	dir  string
	keys *simulator.Keys
}

// simulatedBy says how the accounts of a provider are simulated.
func simulatedBy() map[string]func(*config.Config, config.Account) (simulated, error) {
	return map[string]func(*config.Config, config.Account) (simulated, error){
		"alipay": simulatedAlipay,
		"wechat": simulatedWechat,
	}
}

func simulatedWechat(c *config.Config, a config.Account) (simulated, error) {
	var o wechat.Options
	if err := a.Decode(&o); err != nil {
		return simulated{}, err
	}
	v2, err2 := secretText(c, o.APIv2Key, o.APIv2KeyFile)
	v3, err3 := secretText(c, o.APIv3Key, o.APIv3KeyFile)
	if err := errors.Join(err2, err3); err != nil {
		return simulated{}, err
	}
	s := simulated{Account: simulator.Account{Name: a.Name, MchID: o.MchID, AppID: first(o.AppIDs), SubMchIDs: o.SubMchIDs,
		APIv2Key: v2, APIv3Key: v3, V2SignTypes: o.V2SignTypes}}
	if v3 != "" {
		s.protocols = append(s.protocols, simulator.WechatV3)
	}
	if v2 != "" {
		s.protocols = append(s.protocols, simulator.WechatV2)
	}
	for _, k := range o.PublicKeys {
		s.keyFiles = append(s.keyFiles, k.File)
	}
	for _, k := range o.Certificates {
		s.keyFiles = append(s.keyFiles, k.File)
	}
	return s, nil
}

func simulatedAlipay(c *config.Config, a config.Account) (simulated, error) {
	var o alipay.Options
	if err := a.Decode(&o); err != nil {
		return simulated{}, err
	}
	aes, err := secretText(c, o.AESKey, o.AESKeyFile)
	if err != nil {
		return simulated{}, err
	}
	s := simulated{Account: simulator.Account{Name: a.Name, AlipayAppID: o.AppID, SellerID: o.SellerID, AuthAppIDs: o.AuthAppIDs,
		SignTypes: o.SignTypes, AESKey: aes}, protocols: []simulator.Protocol{simulator.Alipay}}
	for _, k := range slices.Concat(o.PublicKeys, o.Certificates) {
		s.keyFiles = append(s.keyFiles, k.File)
	}
	return s, nil
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// secretText is a secret that stands in the options or in a file of its own.
func secretText(c *config.Config, value provider.Secret, file string) (simulator.Secret, error) {
	if file == "" {
		return simulator.Secret(value.Reveal()), nil
	}
	text, err := c.ReadFile(file)
	if err != nil {
		return "", err
	}
	return simulator.Secret(bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))), nil
}

// checkTest refuses an account that is no test account: one that trusts a key
// which the simulated provider does not have, or none at all. What is signed with
// the API v2 key of a real account would be taken for a payment.
func (k keyring) checkTest(c *config.Config, s simulated) error {
	if len(s.keyFiles) == 0 {
		return exitWith(exitConfig, "the account %s names no key of WeChat Pay's, so that nobody can tell whether it is a test account: list the certificate in %s",
			s.Name, filepath.Join(k.dir, simulator.PlatformCertFile))
	}
	own := [][]byte{k.keys.Platform.PEM, k.keys.NextPlatform.PEM, k.keys.PublicKey.PEM(), k.keys.AlipayPEM()}
	for _, file := range s.keyFiles {
		text, err := c.ReadFile(file)
		if err != nil {
			return exitWith(exitConfig, "the account %s: %w", s.Name, err)
		}
		block, _ := pem.Decode(text)
		isOwn := block != nil && slices.ContainsFunc(own, func(mine []byte) bool {
			p, _ := pem.Decode(mine)
			return bytes.Equal(p.Bytes, block.Bytes)
		})
		if !isOwn {
			return exitWith(exitConfig, "the account %s trusts %s, which is no key of the simulated provider in %s: only test accounts are simulated. notifyd init --test makes one",
				s.Name, file, k.dir)
		}
	}
	return nil
}

// loadKeyring reads the keys beside the configuration file, or in dir.
func loadKeyring(configFile, dir string) (keyring, error) {
	if dir == "" {
		dir = filepath.Join(filepath.Dir(configFile), simulatorFolder)
	}
	keys, err := simulator.LoadKeys(dir)
	if err != nil {
		return keyring{}, exitWith(exitConfig, "%w", err)
	}
	return keyring{dir, keys}, nil
}

// simulators are the simulators of the accounts in their order, each in every
// protocol for which the account has keys; account and protocol choose among
// them when they are not "".
func (k keyring) simulators(c *config.Config, account string, protocol simulator.Protocol) ([]*simulator.Simulator, error) {
	known := simulatedBy()
	var all []*simulator.Simulator
	var names []string
	for _, a := range c.Accounts {
		names = append(names, a.Name)
		describe, ok := known[a.Provider]
		if !ok || account != "" && account != a.Name {
			continue
		}
		s, err := describe(c, a)
		if err != nil {
			return nil, exitWith(exitConfig, "the account %s: %w", a.Name, err)
		}
		if err := k.checkTest(c, s); err != nil {
			return nil, err
		}
		for _, p := range s.protocols {
			if protocol != "" && protocol != p {
				continue
			}
			made, err := simulator.New(p, s.Account, k.keys)
			if err != nil {
				return nil, exitWith(exitConfig, "%w", err)
			}
			all = append(all, made)
		}
	}
	if account != "" && !slices.Contains(names, account) {
		return nil, exitWith(exitUsage, "%s", config.Unknown("account", account, names))
	}
	if len(all) == 0 {
		return nil, exitWith(exitConfig, "no account can be simulated%s: it takes one with an API key or with Alipay's key", chosen(account, protocol))
	}
	return all, nil
}

func chosen(account string, protocol simulator.Protocol) string {
	text := ""
	if account != "" {
		text += " as " + account
	}
	if protocol != "" {
		text += fmt.Sprintf(" in %s", protocol)
	}
	return text
}
