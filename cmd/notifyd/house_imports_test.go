package main_test

import (
	"slices"
	"strings"
	"testing"
)

// allowed is what the packages of one folder may import besides the standard
// library: packages of ours and modules of others, by prefix.
type allowed struct{ ours, theirs []string }

const (
	chi        = "github.com/go-chi/chi"
	huma       = "github.com/danielgtaylor/huma"
	pgx        = "github.com/jackc/pgx"
	sqlite     = "modernc.org/sqlite"
	goose      = "github.com/pressly/goose"
	cobra      = "github.com/spf13/cobra"
	pflag      = "github.com/spf13/pflag" // cobra's own flags, whose type it does not name itself
	yaml       = "github.com/goccy/go-yaml"
	prometheus = "github.com/prometheus/client_golang"
	ulid       = "github.com/oklog/ulid"
	bar        = "github.com/schollz/progressbar"
	xtext      = "golang.org/x/text"
	xsys       = "golang.org/x/sys"
	xterm      = "golang.org/x/term"
	cmp        = "github.com/google/go-cmp"
	rapid      = "pgregory.net/rapid"
	goleak     = "go.uber.org/goleak"
	testscript = "github.com/rogpeppe/go-internal"
	porcupine  = "github.com/anishathalye/porcupine"
	standard   = "github.com/standard-webhooks/standard-webhooks/libraries" // a second opinion on signatures
	wechatSDK  = "github.com/wechatpay-apiv3/wechatpay-go"
	alipaySDK  = "github.com/smartwalle"
	retry      = "github.com/sethvargo/go-retry"
)

// importLaw says who may import whom. It goes from the outside in: cmd knows
// everything, order knows nobody. Order and outbox do not know each other; they
// meet in the store.
//
// A folder directly below internal/ that is not named here is taken for a
// provider's adapter, so that one more provider costs no line of the law.
var importLaw = map[string]allowed{
	"internal/order":                   {},
	"internal/provider":                {ours: []string{"internal/order"}},
	"internal/provider/forge":          {ours: []string{"internal/order", "internal/provider"}, theirs: []string{xtext}},
	"internal/provider/forge/captures": {ours: []string{"internal/order", "internal/provider", "internal/provider/forge"}},
	"internal/provider/mend":           {theirs: []string{xtext}}, // shared by the adapters' examinations: what proxies and frameworks do is the same for all
	"internal/provider/providertest":   {ours: []string{"internal/order", "internal/provider", "internal/provider/forge"}, theirs: []string{xtext, cmp, rapid}},
	"internal/outbox":                  {},
	"internal/outbox/outboxtest":       {}, // a shop is a stranger: it knows HTTP and what an event looks like
	"internal/idempotency":             {},
	"internal/config":                  {theirs: []string{yaml}},
	"internal/redact":                  {ours: []string{"internal/provider"}},
	"internal/refusal":                 {ours: []string{"internal/order"}}, // a capture's form and a store's errors
	"internal/newfile":                 {},                                 // keys, secrets, captures: one way to write over nothing
	"internal/store":                   {ours: []string{"internal/order", "internal/outbox", "internal/idempotency", "internal/refusal", "internal/store/"}},
	"internal/store/sqlite":            {ours: []string{"internal/order", "internal/outbox", "internal/idempotency", "internal/refusal", "internal/store/", "migrations"}, theirs: []string{sqlite, goose, xsys}},
	"internal/store/postgres":          {ours: []string{"internal/order", "internal/outbox", "internal/idempotency", "internal/refusal", "internal/store/", "migrations"}, theirs: []string{pgx, goose}},
	"internal/store/row":               {ours: []string{"internal/order", "internal/outbox", "internal/idempotency", "internal/refusal"}},
	"internal/store/storetest":         {ours: []string{"internal/order", "internal/outbox", "internal/idempotency", "internal/refusal", "internal/store", "migrations"}, theirs: []string{cmp, rapid}},
	"internal/store/postgres/pgtest":   {ours: []string{"internal/store/postgres", "migrations"}, theirs: []string{pgx}},
	"internal/httpapi":                 {ours: []string{"internal/order", "internal/provider", "internal/outbox", "internal/idempotency", "internal/refusal"}, theirs: []string{chi, huma, prometheus, ulid}},
	"internal/doctor":                  {ours: []string{"internal/provider", "internal/provider/mend", "internal/refusal", "internal/store"}}, // judges what they say; calls nobody itself; knows how long keeping a refusal takes; reads key files as examinations do
	"internal/crashtest":               {},                                                                                                    // tests of the whole program from outside
	"internal/admin":                   {ours: []string{"internal/httpapi"}},
	"migrations":                       {},
	"client":                           {theirs: []string{retry}}, // public: nothing of what is internal
	// Public too, but it forges, and there is one forge: nothing of it stands in
	// what the package exports.
	"client/simulator": {ours: []string{"internal/order", "internal/provider", "internal/provider/forge", "internal/newfile"}},
	// Plays what the simulator makes, and knows a server by its public API alone.
	"client/simulator/play": {ours: []string{"client", "client/simulator"}},
}

// adapterLaw holds for every provider's adapter: the contract, the domain, the
// text encodings that providers use, and its own SDK. Never another adapter, a
// store or the edge.
var adapterLaw = allowed{ours: []string{"internal/order", "internal/provider", "internal/provider/mend"}, theirs: []string{xtext, wechatSDK, alipaySDK}}

// beyondLaw is what only the tests of a folder may import besides.
var beyondLaw = map[string][]string{
	"internal/alipay":    {yaml}, // options as a file writes them
	"internal/wechat":    {yaml},
	"cmd/notifyd":        {xsys},        // makes pseudo terminals
	"internal/store":     {pgx, goose},  // holds a row as somebody would by hand, and makes tables as they were
	"internal/crashtest": {sqlite},      // looks into a file that the program left
	"client":             {sqlite, pgx}, // the inbox runs in a merchant's own database
}

// testTools may be imported by any test.
var testTools = []string{cmp, rapid, goleak, testscript, porcupine, standard}

// lawOf is the law of a folder: its own, or that of the nearest folder above.
func lawOf(folder string) (allowed, bool) {
	if strings.HasPrefix(folder, "cmd/") {
		return allowed{ours: []string{"internal/", "migrations", "client"}, theirs: []string{cobra, pflag, yaml, bar, xterm, prometheus, ulid}}, true
	}
	for at := folder; at != "."; at = parent(at) {
		if law, found := importLaw[at]; found {
			return law, true
		}
	}
	if isAdapter(folder) {
		law := adapterLaw
		law.ours = append(slices.Clip(law.ours), folder+"/", top(folder))
		return law, true
	}
	return allowed{}, false
}

func isAdapter(folder string) bool {
	_, named := importLaw[top(folder)]
	return strings.HasPrefix(folder, "internal/") && !named
}

// top is the folder directly below internal/.
func top(folder string) string {
	parts := strings.SplitN(folder, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

func parent(folder string) string {
	at := strings.LastIndexByte(folder, '/')
	if at < 0 {
		return "."
	}
	return folder[:at]
}

// names says whether one of the prefixes names the import path; a prefix that
// ends in a slash names all below it.
func names(prefixes []string, importPath string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return importPath == prefix || strings.HasPrefix(importPath, strings.TrimSuffix(prefix, "/")+"/") &&
			(strings.HasSuffix(prefix, "/") || !strings.HasPrefix(prefix, "internal/"))
	})
}

func TestHouseImportLaw(t *testing.T) {
	for _, p := range listPackages(t, "./...") {
		folder := p.path()
		law, found := lawOf(folder)
		if !found {
			t.Errorf("%s has no import law: give it one in house_imports_test.go", folder)
			continue
		}
		for _, importPath := range p.Imports {
			switch inner := ours(importPath); {
			case isStandard(importPath):
			case inner != "" && !names(law.ours, inner):
				t.Errorf("%s imports %s: the law does not let it", folder, inner)
			case inner == "" && !names(law.theirs, importPath):
				t.Errorf("%s imports %s: the law does not let it", folder, importPath)
			}
		}
	}
}

// Tests may reach further: an edge is tested with a real store. But they too
// keep SDKs with the adapters and adapters apart.
func TestHouseImportLawOfTests(t *testing.T) {
	for _, p := range listPackages(t, "./...") {
		folder := p.path()
		law, _ := lawOf(folder)
		for _, importPath := range slices.Concat(p.TestImports, p.XTestImports) {
			inner := ours(importPath)
			switch {
			case isStandard(importPath):
			case inner != "":
				if isAdapter(folder) && isAdapter(inner) && top(folder) != top(inner) {
					t.Errorf("the tests of %s import %s: adapters do not know each other", folder, inner)
				}
				if folder == "internal/order" && inner != folder {
					t.Errorf("the tests of %s import %s: the domain stands alone", folder, inner)
				}
			case !names(law.theirs, importPath) && !names(testTools, importPath) && !names(beyondLaw[folder], importPath):
				t.Errorf("the tests of %s import %s: the law does not let them", folder, importPath)
			}
		}
	}
}

// The domain computes. It does not talk, read files or look at the clock of the
// machine through another package.
func TestHouseDomainDoesNoIO(t *testing.T) {
	forbidden := []string{"net", "database", "os", "syscall", "io/fs", "log", "embed", "unsafe", "testing"}
	for _, p := range listPackages(t, "./internal/order") {
		for _, importPath := range p.Imports {
			if names(forbidden, importPath) {
				t.Errorf("internal/order imports %s", importPath)
			}
		}
	}
}

// The clock comes in as a function: the domain and the adapters read no other.
func TestHouseClockIsInjected(t *testing.T) {
	for _, s := range mustSources(t) {
		folder := s.folder()
		if s.forTests() || folder != "internal/order" && folder != "internal/provider" && !isAdapter(folder) {
			continue
		}
		for _, call := range []string{"time.Now", "time.Since", "time.Until", "time.After", "time.NewTimer", "time.NewTicker", "time.Sleep"} {
			if node := uses(s, call); node != nil {
				t.Errorf("%s: %s: take the time from the request or from an injected clock", line(node), call)
			}
		}
	}
}

// T6: no address, URL or path of a message is ever opened. Between the socket
// and the fact nothing connects or opens files; adapters read their keys
// through provider.Env.
func TestHouseMessagesOpenNothing(t *testing.T) {
	openers := []string{"http.Get", "http.Post", "http.PostForm", "http.Head", "http.Client", "http.DefaultClient", "http.NewRequest",
		"http.NewRequestWithContext", "http.Transport", "net.Dial", "net.DialTimeout", "net.Dialer", "net.LookupHost", "tls.Dial",
		"os.Open", "os.OpenFile", "os.Create", "os.ReadFile", "exec.Command", "exec.CommandContext"}
	for _, s := range mustSources(t) {
		folder := s.folder()
		if s.forTests() || folder != "internal/order" && folder != "internal/provider" && folder != "internal/httpapi" && !isAdapter(folder) {
			continue
		}
		for _, opener := range openers {
			if node := uses(s, opener); node != nil {
				t.Errorf("%s: %s on the way of a notification", line(node), opener)
			}
		}
	}
}

// What serves tests stays out of the program: so do the SDKs, until a query
// client needs one.
func TestHouseBinaryIsLean(t *testing.T) {
	forbidden := slices.Concat(testTools, []string{"testing", alipaySDK,
		houseModule + "/internal/provider/providertest", houseModule + "/internal/store/storetest", houseModule + "/internal/store/postgres/pgtest",
		houseModule + "/internal/outbox/outboxtest"})
	for _, p := range listPackages(t, "-deps", "./cmd/notifyd") {
		if names(forbidden, p.ImportPath) {
			t.Errorf("the program contains %s", p.ImportPath)
		}
	}
}

// T25: a body is never unpacked on the way of a notification, so there is no
// bomb to unpack. Only HTTP itself, outside our tree, knows compression.
func TestHouseNothingIsDecompressed(t *testing.T) {
	for _, p := range listPackages(t, "./...") {
		for _, importPath := range p.Imports {
			if names([]string{"compress/", "archive/"}, importPath) {
				t.Errorf("%s imports %s", p.path(), importPath)
			}
		}
	}
	for _, s := range mustSources(t) {
		if node := uses(s, "middleware.Compress"); node != nil {
			t.Errorf("%s: answers are not compressed", line(node))
		}
	}
}
