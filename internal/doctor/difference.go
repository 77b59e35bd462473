package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"reflect"
	"strings"
)

// changes are what software on the way is known to do to a body.
var changes = []struct {
	what string
	made func(sent, got []byte) bool
}{
	{"it is empty", func(_, got []byte) bool { return len(got) == 0 }},
	{"blanks and line ends at its end are cut", func(sent, got []byte) bool {
		return len(got) < len(sent) && bytes.Equal(bytes.TrimSpace(sent), bytes.TrimSpace(got))
	}},
	{"its end is cut off", func(sent, got []byte) bool { return bytes.HasPrefix(sent, got) }},
	{"something follows it", func(sent, got []byte) bool { return bytes.HasPrefix(got, sent) }},
	{"line ends are written otherwise", func(sent, got []byte) bool { return bytes.Equal(plainLines(sent), plainLines(got)) }},
	{"quotes and brackets are escaped for HTML", func(sent, got []byte) bool { return html.UnescapeString(string(got)) == string(sent) }},
	{"quotes got backslashes", func(sent, got []byte) bool { return strings.ReplaceAll(string(got), `\"`, `"`) == string(sent) }},
	{"'+' became a blank", func(sent, got []byte) bool { return bytes.Equal(bytes.ReplaceAll(sent, []byte("+"), []byte(" ")), got) }},
	{"the form was decoded", func(sent, got []byte) bool {
		plain, err := url.QueryUnescape(string(sent))
		return err == nil && plain == string(got)
	}},
	{"the JSON was read and written again", sameJSON},
	{"the form was read and written again", sameForm},
}

// difference says in words how got differs from sent.
func difference(sent, got []byte) string {
	for _, c := range changes {
		if c.made(sent, got) {
			return c.what
		}
	}
	at := 0
	for at < len(sent) && at < len(got) && sent[at] == got[at] {
		at++
	}
	return fmt.Sprintf("%d bytes were sent and %d came, the first other one at %d", len(sent), len(got), at)
}

func plainLines(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }

func sameJSON(sent, got []byte) bool {
	var a, b any
	return json.Unmarshal(sent, &a) == nil && json.Unmarshal(got, &b) == nil && reflect.DeepEqual(a, b)
}

func sameForm(sent, got []byte) bool {
	a, err1 := url.ParseQuery(string(sent))
	b, err2 := url.ParseQuery(string(got))
	return err1 == nil && err2 == nil && len(a) > 1 && reflect.DeepEqual(a, b)
}
