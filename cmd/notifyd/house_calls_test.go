package main_test

import (
	"slices"
	"strings"
	"testing"
)

// opensConnections are the ways in which Go code calls somebody.
var opensConnections = []string{"http.Client", "http.Transport", "http.DefaultClient", "http.DefaultTransport", "http.Get", "http.Post",
	"http.Head", "http.PostForm", "net.Dial", "net.DialTimeout", "net.DialTCP", "net.DialUDP", "net.DialIP", "net.DialUnix", "net.Dialer", "tls.Dial", "tls.DialWithDialer", "tls.Dialer"}

// callers are the files that may, each with its reason.
var callers = map[string]string{
	"internal/outbox/call.go":     "the guarded dialer: every call to a stranger's address",
	"internal/outbox/outbox.go":   "hands the guarded client on",
	"cmd/notifyd/admin_client.go": "our own admin API, whose address the user names",
	"cmd/notifyd/demo_send.go":    "the demo's own listener",
	"cmd/notifyd/replay_send.go":  "the server that the user names after --to",
}

// T32: one dialer looks at every address that a merchant names. Whoever calls
// past it could be led inside.
func TestHouseOneGuardedDialer(t *testing.T) {
	used := map[string]bool{}
	for _, s := range mustSources(t) {
		// client runs at the merchant's, and bench puts load on a server of its own.
		if s.forTests() || strings.HasPrefix(s.path, "client/") || strings.HasPrefix(s.path, "bench/") || strings.Contains(s.path, "/testdata/") {
			continue
		}
		i := slices.IndexFunc(opensConnections, func(name string) bool { return uses(s, name) != nil })
		switch {
		case i < 0:
		case callers[s.path] == "":
			t.Errorf("%s: %s: calls go through outbox.NewClient, which refuses addresses inside", line(uses(s, opensConnections[i])), opensConnections[i])
		default:
			used[s.path] = true
		}
	}
	for path := range callers {
		if !used[path] {
			t.Errorf("%s calls nobody any more: take its exception away", path)
		}
	}
}

// New files, which hold keys and secrets as often as not, are written in one way:
// over nothing, for their owner alone, whole or not at all.
func TestHouseNewFilesAreWrittenInOnePlace(t *testing.T) {
	makers := map[string]bool{
		"internal/newfile/newfile.go":      false,
		"internal/store/sqlite/prepare.go": false, // an empty database: SQLite writes into it
	}
	for _, s := range mustSources(t) {
		if s.forTests() || uses(s, "os.O_EXCL") == nil {
			continue
		}
		if _, may := makers[s.path]; !may {
			t.Errorf("%s: write new files with newfile.Write", line(uses(s, "os.O_EXCL")))
		}
		makers[s.path] = true
	}
	for path, does := range makers {
		if !does {
			t.Errorf("%s makes no file any more: take it away here", path)
		}
	}
}
