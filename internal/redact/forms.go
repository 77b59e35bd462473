package redact

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
)

// maxDepth of JSON: real messages have four levels.
const maxDepth = 32

// json walks a JSON body and cuts the values of names that go.
func (f *finding) json() error {
	dec := json.NewDecoder(bytes.NewReader(f.body))
	dec.UseNumber()
	if err := f.value(dec, 0); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errUnreadable // something follows
	}
	return nil
}

// value reads one value; what is in it is looked at name by name.
func (f *finding) value(dec *json.Decoder, depth int) error {
	if depth > maxDepth {
		return errUnreadable
	}
	from := int(dec.InputOffset())
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		for dec.More() {
			if t == '{' {
				err = f.member(dec, depth)
			} else {
				err = f.value(dec, depth+1)
			}
			if err != nil {
				return err
			}
		}
		_, err = dec.Token() // the closing one
		return err
	case string:
		if kind, goes := f.leaf(t); goes {
			to := int(dec.InputOffset())
			f.cut(from+bytes.IndexByte(f.body[from:to], '"'), to, `"`+mask+`"`, kind)
		}
	}
	return nil
}

func (f *finding) member(dec *json.Decoder, depth int) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	name, ok := token.(string)
	if !ok {
		return errUnreadable
	}
	kind, goes := f.sensitive(name)
	if !goes {
		at := int(dec.InputOffset())
		if err := f.value(dec, depth+1); err != nil {
			return err
		}
		f.sealed(name, strings.Trim(string(f.body[at:dec.InputOffset()]), ": \t\r\n\""))
		return nil
	}
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return err
	}
	to := int(dec.InputOffset())
	f.cut(to-len(value), to, `"`+mask+`"`, kind)
	return nil
}

// xml walks an XML body and cuts the content of elements that go.
func (f *finding) xml() error {
	dec := xml.NewDecoder(bytes.NewReader(f.body))
	var open []string
	var text strings.Builder // of the element that was opened last
	from := 0                // where its content begins
	ended := false           // an element was closed since
	for {
		at := int(dec.InputOffset())
		token, err := dec.Token()
		if errors.Is(err, io.EOF) && len(open) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(t.Attr) > 0 || len(open) > maxDepth || len(strings.TrimSpace(text.String())) > 0 {
				return errUnreadable
			}
			open = append(open, t.Name.Local)
			from, ended = int(dec.InputOffset()), false
			text.Reset()
			if kind, goes := f.sensitive(t.Name.Local); goes {
				if err := f.skip(dec, from, kind); err != nil {
					return err
				}
				open, ended = open[:len(open)-1], true
			}
		case xml.CharData:
			text.Write(t)
			if (len(open) == 0 || ended) && len(bytes.TrimSpace(t)) > 0 {
				return errUnreadable
			}
		case xml.EndElement:
			if kind, goes := f.leaf(text.String()); goes {
				f.cut(from, at, mask, kind)
			}
			f.sealed(open[len(open)-1], text.String())
			open, ended = open[:len(open)-1], true
			text.Reset()
		case xml.ProcInst:
			if at > 0 {
				return errUnreadable
			}
		default: // a comment or a directive
			return errUnreadable
		}
	}
}

// skip goes to the end of an element whose content begins at from, and cuts it.
func (f *finding) skip(dec *xml.Decoder, from int, kind provider.Sensitive) error {
	for depth := 1; ; {
		at := int(dec.InputOffset())
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			if depth--; depth == 0 {
				f.cut(from, at, mask, kind)
				return nil
			}
		}
	}
}

// form walks a form body pair by pair. A piece that is no plain NAME=VALUE goes
// as a whole: it may be anything.
func (f *finding) form() error {
	at := 0
	for piece := range bytes.SplitSeq(f.body, []byte("&")) {
		f.pair(at, string(piece))
		at += len(piece) + 1
	}
	return nil
}

func (f *finding) pair(at int, piece string) {
	name, value, isPair := strings.Cut(piece, "=")
	plainName := unescape(name)
	switch kind, goes := f.sensitive(plainName); {
	case piece == "":
	case !isPair || !isFieldName(plainName):
		f.cut(at, at+len(piece), mask, unreadable)
	case goes:
		f.cut(at+len(name)+1, at+len(piece), mask, kind)
	default:
		text := unescape(value)
		if kind, goes := f.leaf(text); goes {
			f.cut(at+len(name)+1, at+len(piece), mask, kind)
			return
		}
		f.sealed(plainName, text)
	}
}

// isFieldName says whether a text can name a field, possibly behind what an
// input filter made of the & before it.
func isFieldName(name string) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(name, "amp;"), "#38;")
	return rest != "" && !strings.ContainsFunc(rest, func(c rune) bool { return !isNameRune(c) && c != '.' && c != '[' && c != ']' })
}

// encodings is how often a text may have been encoded.
const encodings = 4

// unescape decodes a text until nothing is left to decode. A bad escape stays.
func unescape(text string) string {
	for range encodings {
		plain, err := url.QueryUnescape(text)
		if err != nil || plain == text {
			break
		}
		text = plain
	}
	return text
}
