package alipay

import (
	"time"
	"unicode/utf8"
)

// maxFen is 100000000.00 yuan, the most that Alipay takes for one order.
const maxFen = 100_000_000_00

// maxYuanLength is the length of "100000000.00".
const maxYuanLength = 12

// fen reads yuan text exactly: digits, optionally a point and one or two
// digits, at most 100000000.00. Anything else is not read at all.
func fen(yuan string) (int64, bool) {
	if len(yuan) == 0 || len(yuan) > maxYuanLength {
		return 0, false
	}
	n, digits, decimals := int64(0), 0, -1 // decimals: -1 before the point
	for i := range len(yuan) {
		switch c := yuan[i]; {
		case c == '.' && decimals < 0 && digits > 0:
			decimals = 0
		case '0' <= c && c <= '9':
			n = n*10 + int64(c-'0')
			if decimals < 0 {
				digits++
			} else {
				decimals++
			}
		default:
			return 0, false
		}
	}
	switch decimals {
	case -1:
		n *= 100
	case 1:
		n *= 10
	case 2:
	default: // "1." and "1.001"
		return 0, false
	}
	return n, n <= maxFen
}

// beijing is the zone of every time without an offset that Alipay sends.
var beijing = time.FixedZone("+08:00", 8*60*60)

const (
	timeLayout    = "2006-01-02 15:04:05"
	maxTimeLength = len(timeLayout) + len(".000000000")
	// firstYear is before Alipay: an earlier time is no time but a default.
	firstYear = 2000
)

// instant reads a time of Alipay, with a fraction or without, into UTC,
// truncated to microseconds.
// Source: Alipay docs, notification parameters (gmt_refund has milliseconds).
func instant(text string) (time.Time, bool) {
	if !timeShaped(text) { // the parser forgives a missing zero and a comma
		return time.Time{}, false
	}
	t, err := time.ParseInLocation(timeLayout, text, beijing)
	if err != nil || t.Year() < firstYear {
		return time.Time{}, false
	}
	return t.UTC().Truncate(time.Microsecond), true
}

// timeShaped says whether every digit and sign of the text stands in its place.
func timeShaped(text string) bool {
	if len(text) < len(timeLayout) || len(text) > maxTimeLength || len(text) == len(timeLayout)+1 {
		return false
	}
	for i := range len(text) {
		want := byte('0')
		switch {
		case i == len(timeLayout):
			want = '.'
		case i < len(timeLayout) && (timeLayout[i] < '0' || timeLayout[i] > '9'):
			want = timeLayout[i]
		}
		isDigit := '0' <= text[i] && text[i] <= '9'
		if want == '0' && !isDigit || want != '0' && text[i] != want {
			return false
		}
	}
	return true
}

// maxNumberLength is the length of the longest number that Alipay sends: order,
// trade and refund numbers are String(64).
const maxNumberLength = 64

// plain says whether a number can be stored and shown as it is: up to 64
// characters, valid text without control characters, and no '&': the field that
// follows in the signed text can be glued to a number, which then would be
// another one under a signature that holds.
func plain(number string) bool {
	if number == "" || len(number) > maxNumberLength*utf8.UTFMax || utf8.RuneCountInString(number) > maxNumberLength {
		return false
	}
	for _, r := range number {
		if r < ' ' || r == '&' || 0x7f <= r && r < 0xa0 || r == utf8.RuneError {
			return false
		}
	}
	return true
}
