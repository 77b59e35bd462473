package alipay

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/notifyd/notifyd/internal/provider"
)

// charset is the encoding of a form's values.
type charset int

const (
	charsetUTF8    charset = iota
	charsetChinese         // GBK, GB2312 and GB18030: the last one holds the other two
)

// charsetOf is the charset that the signed field of that name says. Nothing
// else is asked: the Content-Type is not signed and often differs.
func charsetOf(f form) (charset, error) {
	if !f.names("charset") {
		return charsetUTF8, nil
	}
	name := f.get("charset")
	switch strings.ToLower(provider.Clip(name, maxNamed)) {
	case "utf-8":
		return charsetUTF8, nil
	case "gbk", "gb2312", "gb18030":
		return charsetChinese, nil
	}
	return 0, provider.Refuse(provider.ErrSignature, codeCharset, "%q", provider.Clip(name, maxNamed))
}

// decode turns the bytes of a value into text; false when they are not valid in
// the charset.
func (c charset) decode(value string) (string, bool) {
	if ascii(value) {
		return value, true
	}
	if c == charsetUTF8 {
		return value, utf8.ValidString(value)
	}
	text, err := simplifiedchinese.GB18030.NewDecoder().String(value)
	// The decoder writes U+FFFD for what it cannot read.
	return text, err == nil && !strings.ContainsRune(text, utf8.RuneError)
}

// show is the value as text whatever its bytes are: what is not valid is shown
// percent-encoded, so that nothing is lost.
func (c charset) show(value string) string {
	if text, ok := c.decode(value); ok {
		return text
	}
	return url.QueryEscape(value)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
