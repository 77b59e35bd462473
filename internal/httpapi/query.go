package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// parameter is a query parameter that an operation takes.
type parameter struct {
	name, about string
	values      []string // the only ones; nil: any text
	format      string   // for the document: "date-time" or ""
}

// readQuery reads a query strictly: a name that the operation does not take, a
// name twice or broken syntax is an error, so that a misspelt filter never
// shows everything. An empty value is as good as none.
func readQuery(raw string, takes []parameter) (map[string]string, error) {
	given, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badParameter("query", "is not well-formed")
	}
	query := map[string]string{}
	for name, values := range given {
		i := slices.IndexFunc(takes, func(p parameter) bool { return p.name == name })
		switch {
		case i < 0:
			return nil, badParameter(claim(name), "there is no such parameter here")
		case len(values) != 1:
			return nil, badParameter(name, "is given more than once")
		case values[0] == "":
			continue
		case !cleanText(values[0]):
			return nil, badParameter(name, "is not UTF-8 text without control characters of at most %d bytes", maxTextBytes)
		case takes[i].values != nil && !slices.Contains(takes[i].values, values[0]):
			return nil, badParameter(name, "must be one of %s", strings.Join(takes[i].values, ", "))
		}
		query[name] = values[0]
	}
	return query, nil
}

// cleanText says whether s can stand in a text column of either database and in
// a message to people.
func cleanText(s string) bool {
	return len(s) <= maxTextBytes && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func words[T ~string](of []T) []string {
	out := make([]string, len(of))
	for i, v := range of {
		out[i] = string(v)
	}
	return out
}

// moment reads a time of the query; zero when it is not given.
func (c *call) moment(name string) (time.Time, error) {
	text := c.query[name]
	if text == "" {
		return time.Time{}, nil
	}
	// A plus sign that was not percent-encoded arrives as a space.
	t, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "+", 1))
	if err != nil {
		return time.Time{}, badParameter(name, "is not a time like 2026-01-02T15:04:05+08:00")
	}
	return t.UTC(), nil
}

func (c *call) span() (since, until time.Time, err error) {
	if since, err = c.moment("since"); err == nil {
		until, err = c.moment("until")
	}
	return since, until, err
}

func (c *call) limit() (int, error) {
	text := c.query["limit"]
	if text == "" {
		return pageDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > pageMax {
		return 0, badParameter("limit", "is not a number from 1 to %d", pageMax)
	}
	return n, nil
}
