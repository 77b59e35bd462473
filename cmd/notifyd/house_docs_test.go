package main_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is a fenced block of a document: the words after the fence and the text.
type block struct{ info, text string }

// outline is a document without its prose.
type outline struct {
	levels []int // of the headings, in order
	blocks []block
	prose  string // what stands outside of the blocks
}

func outlineOf(text string) outline {
	var o outline
	var prose, inside strings.Builder
	info, fenced := "", false
	for l := range strings.Lines(text) {
		trimmed := strings.TrimRight(l, "\n")
		switch {
		case strings.HasPrefix(trimmed, "```") && !fenced:
			info, fenced = strings.TrimPrefix(trimmed, "```"), true
			inside.Reset()
		case strings.HasPrefix(trimmed, "```"):
			o.blocks = append(o.blocks, block{info, inside.String()})
			fenced = false
		case fenced:
			inside.WriteString(l)
		default:
			if level := len(trimmed) - len(strings.TrimLeft(trimmed, "#")); level > 0 && strings.HasPrefix(trimmed[level:], " ") {
				o.levels = append(o.levels, level)
			}
			prose.WriteString(l)
		}
	}
	o.prose = prose.String()
	return o
}

// Whoever changes one README changes the other: the same headings in the same
// order, and the same blocks to the letter, comments aside.
func TestHouseReadmesKeepStep(t *testing.T) {
	english, chinese := outlineOf(readHouseFile(t, "README.md")), outlineOf(readHouseFile(t, "README.zh-CN.md"))
	if !slices.Equal(english.levels, chinese.levels) {
		t.Errorf("the headings differ:\nREADME.md       %v\nREADME.zh-CN.md %v", english.levels, chinese.levels)
	}
	if len(english.blocks) != len(chinese.blocks) {
		t.Fatalf("README.md has %d blocks, README.zh-CN.md %d", len(english.blocks), len(chinese.blocks))
	}
	for i, want := range english.blocks {
		got := chinese.blocks[i]
		if got.info != want.info || withoutComments(got.text) != withoutComments(want.text) {
			t.Errorf("block %d differs:\nREADME.md (%s)\n%s\nREADME.zh-CN.md (%s)\n%s", i+1, want.info, want.text, got.info, got.text)
		}
	}
}

// withoutComments cuts what follows a # that stands alone, and the blanks before it.
func withoutComments(text string) string {
	return regexp.MustCompile(`(?m)(^|[ \t]+)# .*$`).ReplaceAllString(text, "")
}

var quoted = regexp.MustCompile("`([^`\n]+)`")

// A document names tests, files and make targets that exist.
func TestHouseDocumentsNameWhatExists(t *testing.T) {
	tests := namedTests(t)
	targets := regexp.MustCompile(`(?m)^[a-z-]+:`).FindAllString(readHouseFile(t, "Makefile"), -1)
	link := regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	file := regexp.MustCompile(`^(cmd|internal|migrations|testdata|docs|scripts|client|\.ci)/[\w./-]*$`)
	isTest := regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]\w*$`)
	err := walk(".md", func(name string, text []byte) error {
		o := outlineOf(string(text))
		for _, found := range link.FindAllStringSubmatch(o.prose, -1) {
			if !strings.Contains(found[1], "://") && !exists(path.Join(path.Dir(name), found[1])) {
				t.Errorf("%s links to %s, which is not there", name, found[1])
			}
		}
		for _, found := range quoted.FindAllStringSubmatch(o.prose, -1) {
			word := strings.TrimSuffix(found[1], "()")
			target, isMake := strings.CutPrefix(word, "make ")
			switch {
			case isTest.MatchString(word) && !tests[word]:
				t.Errorf("%s names the test %s, which is not there", name, word)
			case file.MatchString(word) && !exists(word):
				t.Errorf("%s names the file %s, which is not there", name, word)
			case isMake && !slices.Contains(targets, strings.Fields(target)[0]+":"):
				t.Errorf("%s names %q, which the Makefile does not have", name, word)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(houseRoot, name))
	return err == nil
}

// namedTests are the names of all test functions of the module.
func namedTests(t *testing.T) map[string]bool {
	all := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	for _, s := range mustSources(t) {
		if s.isTest() {
			for _, found := range function.FindAllStringSubmatch(s.text, -1) {
				all[found[1]] = true
			}
		}
	}
	return all
}

// row is one line of a table of cases or threats: its number, and what it says.
type row struct{ number, text string }

func rowsOf(t *testing.T, document, letter string) []row {
	t.Helper()
	start := regexp.MustCompile(`(?m)^\| (` + letter + `\d+) \|(.*)$`)
	var rows []row
	seen := map[string]bool{}
	for _, found := range start.FindAllStringSubmatch(readHouseFile(t, document), -1) {
		if seen[found[1]] {
			t.Errorf("%s: %s stands twice", document, found[1])
		}
		seen[found[1]] = true
		rows = append(rows, row{found[1], found[2]})
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows that begin with | %sn |", document, letter)
	}
	return rows
}

// Every case of the field has a test that bears its number or is named in its
// row, or says what is still open; and no test bears a number that the document
// does not explain.
func TestHouseFieldCases(t *testing.T) {
	borne := bearers(t, "P")
	explained := map[string]bool{}
	for _, r := range rowsOf(t, "docs/field-cases.md", "P") {
		explained[r.number] = true
		if len(borne[r.number]) == 0 && !namesTest(r.text) && !strings.Contains(r.text, "open:") {
			t.Errorf("%s: no test bears this number, and the row names none and does not say what is open", r.number)
		}
	}
	for number, where := range borne {
		if !explained[number] {
			t.Errorf("%v bears the number %s, which docs/field-cases.md does not explain", where, number)
		}
	}
}

// bearers are the files whose tests bear a number: in the name of a test
// function or script, or at the beginning of a subtest's name.
func bearers(t *testing.T, letter string) map[string][]string {
	t.Helper()
	number := regexp.MustCompile(letter + `\d\d`)
	bears := regexp.MustCompile(`func (?:Test|Fuzz)\w*|"` + letter + `\d\d\b`)
	borne := map[string][]string{}
	note := func(where, text string) {
		for _, n := range number.FindAllString(text, -1) {
			borne[n] = append(borne[n], where)
		}
	}
	for _, s := range mustSources(t) {
		if s.forTests() && !strings.HasPrefix(path.Base(s.path), "house_") {
			for _, found := range bears.FindAllString(s.text, -1) {
				note(s.path, found)
			}
		}
	}
	err := walk(".txtar", func(name string, _ []byte) error {
		note(name, strings.ToUpper(path.Base(name)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return borne
}

// namesTest says whether a row names a test; that there is one by that name is
// TestHouseDocumentsNameWhatExists's affair.
func namesTest(row string) bool {
	return regexp.MustCompile("`(Test|Fuzz)\\w+`").MatchString(row)
}

// Every threat either names a test that exists (TestHouseDocumentsNameWhatExists
// looks) or says what is open.
func TestHouseThreats(t *testing.T) {
	rows := rowsOf(t, "docs/security.md", "T")
	if len(rows) != 33 {
		t.Errorf("docs/security.md has %d threats, there are 33", len(rows))
	}
	for _, r := range rows {
		if !namesTest(r.text) && !strings.Contains(r.text, "open:") {
			t.Errorf("%s names no test and does not say what is open", r.number)
		}
	}
}

// What people search for when they are woken up: every refusal code and every
// metric is explained, and nothing is explained that is not there.
func TestHouseCodesAndMetricsAreExplained(t *testing.T) {
	for document, form := range map[string]*regexp.Regexp{
		"docs/codes.md":      regexp.MustCompile(`\b(?:` + strings.Join(codeFamilies(t), "|") + `)\.[a-z0-9_]+`),
		"docs/operations.md": regexp.MustCompile(`\bnotifyd_[a-z0-9_]*[a-z]\b`),
	} {
		explained := map[string]bool{}
		for _, name := range form.FindAllString(readHouseFile(t, document), -1) {
			explained[name] = true
		}
		said := map[string]bool{}
		literal := regexp.MustCompile(`"(` + form.String() + `)"`)
		for _, s := range mustSources(t) {
			if s.isTest() {
				continue
			}
			for _, found := range literal.FindAllStringSubmatch(s.text, -1) {
				said[found[1]] = true
				if !explained[found[1]] {
					explained[found[1]] = true // once is enough
					t.Errorf("%s says %s, which %s does not explain", s.path, found[1], document)
				}
			}
		}
		for name := range explained {
			if !said[name] {
				t.Errorf("%s explains %s, which the program does not say", document, name)
			}
		}
	}
}

// codeFamilies are what stands before the point of the refusal codes: one for
// each adapter and one for the edge, found by their constants.
func codeFamilies(t *testing.T) []string {
	t.Helper()
	constant := regexp.MustCompile(`(?m)^\s*(?:const )?[cC]ode\w+\s*=\s*"([a-z0-9]+)\.[a-z0-9_]+"`)
	var all []string
	for _, s := range mustSources(t) {
		if s.isTest() {
			continue
		}
		for _, found := range constant.FindAllStringSubmatch(s.text, -1) {
			all = append(all, found[1])
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) < 3 {
		t.Fatalf("the refusal codes begin with %v only: are they no constants named code… any more?", all)
	}
	return all
}

func TestHouseChangelogIsOpen(t *testing.T) {
	text := readHouseFile(t, "CHANGELOG.md")
	_, unreleased, found := strings.Cut(text, "\n## [Unreleased]\n")
	if !found {
		t.Fatal("CHANGELOG.md has no section ## [Unreleased]")
	}
	section, _, _ := strings.Cut(unreleased, "\n## ")
	if !strings.Contains(section, "\n- ") {
		t.Error("the section Unreleased of CHANGELOG.md is empty")
	}
}

// Every decision record stands in the index, by number, without gaps.
func TestHouseDecisionsAreIndexed(t *testing.T) {
	index := readHouseFile(t, "docs/adr/README.md")
	records, err := filepath.Glob(filepath.Join(houseRoot, "docs/adr/[0-9]*.md"))
	if err != nil || len(records) == 0 {
		t.Fatalf("no decision records: %v", err)
	}
	slices.Sort(records)
	for i, record := range records {
		name := filepath.Base(record)
		if want := fmt.Sprintf("%04d-", i+1); !strings.HasPrefix(name, want) {
			t.Errorf("%s: the number should be %s", name, want)
		}
		if !strings.Contains(index, "("+name+")") {
			t.Errorf("%s is not in docs/adr/README.md", name)
		}
	}
}

// A library more or fewer is a decision: go.mod and the record name the same.
func TestHouseLibrariesAreArgued(t *testing.T) {
	record := readHouseFile(t, "docs/adr/0015-libraries.md")
	required := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^(?:require )?\s*([a-z][\w.-]*\.[a-z]+/\S+) v\S+$`).FindAllStringSubmatch(readHouseFile(t, "go.mod"), -1) {
		required[found[1]] = true
		if !strings.Contains(record, "`"+found[1]+"`") {
			t.Errorf("go.mod requires %s, which docs/adr/0015-libraries.md does not argue", found[1])
		}
	}
	for _, found := range regexp.MustCompile("`([a-z][\\w.-]*\\.[a-z]+/[^`]+)`").FindAllStringSubmatch(record, -1) {
		if !required[found[1]] {
			t.Errorf("docs/adr/0015-libraries.md argues for %s, which go.mod does not require", found[1])
		}
	}
}

// Both databases take the same steps: the same numbers, the same names.
func TestHouseMigrationsGoTogether(t *testing.T) {
	steps := map[string][]string{}
	for _, database := range []string{"sqlite", "postgres"} {
		entries, err := os.ReadDir(filepath.Join(houseRoot, "migrations", database))
		if err != nil {
			t.Fatal(err)
		}
		sql := slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return path.Ext(e.Name()) != ".sql" })
		for _, e := range sql {
			steps[database] = append(steps[database], e.Name())
		}
	}
	if len(steps["sqlite"]) == 0 || !slices.Equal(steps["sqlite"], steps["postgres"]) {
		t.Errorf("the migrations differ:\nsqlite   %v\npostgres %v", steps["sqlite"], steps["postgres"])
	}
}
