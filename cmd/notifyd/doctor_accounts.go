package main

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/doctor"
	"github.com/notifyd/notifyd/internal/provider"
)

// Bounds of what is read beside the key files, to find a private key that
// belongs to one of them.
const (
	maxNearbyFiles = 64
	maxNearbyBytes = 64 << 10
)

// accountsOf are the configured accounts with the files that their keys come
// from.
func (f *doctorFlags) accountsOf(conf *config.Config, built map[string]account, report *config.Report) ([]doctor.Account, error) {
	var all []doctor.Account
	for _, c := range conf.Accounts {
		a := doctor.Account{Name: c.Name, Provider: built[c.Name].Provider, NoURL: "set public_url, or give --url: the URL is not known"}
		if conf.PublicURL != "" {
			a.URL = conf.NotifyURL(c.Name)
		}
		a.Files, a.Faults = readKeys(f.config, conf, c, report)
		a.Nearby = filesBeside(a.Files)
		all = append(all, a)
	}
	return all, f.nameURLs(all)
}

// nameURLs gives the URLs of --url to their accounts.
func (f *doctorFlags) nameURLs(all []doctor.Account) error {
	if f.account != "" && len(f.urls) != 1 {
		return exitWith(exitUsage, "--account says whose the one --url is; %s", countGiven(len(f.urls)))
	}
	if len(f.urls) > 0 {
		for i := range all {
			all[i].URL, all[i].NoURL = "", "--url names others: only what it names is called"
		}
	}
	for _, raw := range f.urls {
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			return exitWith(exitUsage, "--url must be a URL like https://pay.example.com/notify/wechat")
		}
		name := f.account
		if name == "" {
			name = u.Path[strings.LastIndexByte(u.Path, '/')+1:]
		}
		i := slices.IndexFunc(all, func(a doctor.Account) bool { return a.Name == name })
		if i < 0 {
			return exitWith(exitUsage, "--url: there is no account %q: say whose URL it is with --account NAME", shown(name))
		}
		all[i].URL = raw
	}
	return nil
}

// readKeys builds the account once more and watches which files it reads. What
// its adapter says about keys is the second result; the rest of the report is
// the configuration's.
func readKeys(path string, conf *config.Config, c config.Account, report *config.Report) (files []doctor.File, faults []string) {
	build, known := providers()[c.Provider]
	if !known {
		return nil, nil
	}
	read := func(name string) ([]byte, error) {
		content, err := conf.ReadFile(name)
		if err == nil {
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(path), name)
			}
			files = append(files, doctor.File{Path: name, Content: content})
		}
		return content, err
	}
	_, err := build.build(c.Decode, provider.Env{Account: c.Name, Merchant: c.Merchant, ReadFile: read})
	var problems provider.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			if found := c.Finding(p.Field, p.Text); isAboutKeys(p) && slices.Contains(report.Errors, found) {
				faults = append(faults, found.String())
				report.Errors = slices.DeleteFunc(report.Errors, func(f config.Finding) bool { return f == found })
			}
		}
	}
	return files, faults
}

// isAboutKeys goes by the names of the options: whatever the provider, the one
// that names a key or a certificate says so.
func isAboutKeys(p provider.Problem) bool {
	return strings.Contains(p.Field, "key") || strings.Contains(p.Field, "certificate")
}

// filesBeside reads the small files in the folders of key files. What cannot be
// read is not there: this looks for a slip, and proves nothing.
func filesBeside(files []doctor.File) (beside []doctor.File) {
	var folders []string
	for _, f := range files {
		if folder := filepath.Dir(f.Path); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries[:min(len(entries), maxNearbyFiles)] {
			path := filepath.Join(folder, e.Name())
			if !e.Type().IsRegular() {
				continue
			}
			if content, err := readAtMost(path, maxNearbyBytes); err == nil {
				beside = append(beside, doctor.File{Path: path, Content: content})
			}
		}
	}
	return beside
}
