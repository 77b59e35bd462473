package wechat

import (
	"bytes"
	"encoding/base64"
	"math"
	"time"
)

const (
	// maxOrderNumber is the longest out_trade_no of any product (medical
	// insurance; 32 elsewhere), and of out_refund_no.
	maxOrderNumber = 64
	// maxProviderNumber bounds transaction_id, refund_id and merchant numbers:
	// string(32) in the tables.
	maxProviderNumber = 32
	// firstYear is before WeChat Pay began: an earlier time was not understood.
	firstYear = 2000
	// beijing is the offset of all times that are written without one.
	beijing = 8 * time.Hour
)

// parseFen reads an amount in fen. No sign, point or exponent, never a guess.
func parseFen(b []byte) (int64, bool) { return parseDigits(b) }

// parseDigits reads a number that is digits and nothing else and fits an int64.
func parseDigits(b []byte) (n int64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		digit := int64(c - '0')
		if n > (math.MaxInt64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, len(b) > 0
}

// parseTime reads v3's RFC 3339 time, with or without a fraction, to UTC and
// microseconds. The standard library's readers also take a comma before the
// fraction and hours of one digit.
func parseTime(b []byte) (time.Time, bool) {
	const layout = "yyyy-MM-ddTHH:mm:ss"
	if len(b) <= len(layout) {
		return time.Time{}, false
	}
	t, ok := parseLayout(b[:len(layout)], layout)
	if !ok {
		return time.Time{}, false
	}
	fraction, rest, ok := cutFraction(b[len(layout):])
	offset, ok2 := parseOffset(rest)
	t = t.Add(fraction - offset).Truncate(time.Microsecond)
	if !ok || !ok2 || t.Year() < firstYear {
		return time.Time{}, false
	}
	return t, true
}

// maxFractionDigits: nanoseconds, more than any provider writes.
const maxFractionDigits = 9

// cutFraction takes ".123" from the start of b, if a point stands there.
func cutFraction(b []byte) (fraction time.Duration, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '.' {
		return 0, b, true
	}
	unit := time.Second
	i := 1
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		unit /= 10
		fraction += time.Duration(b[i]-'0') * unit
	}
	return fraction, b[i:], i > 1 && i <= 1+maxFractionDigits
}

// parseOffset reads Z, +08:00 or -06:00.
func parseOffset(b []byte) (time.Duration, bool) {
	if len(b) == 1 && b[0] == 'Z' {
		return 0, true
	}
	if len(b) != len("+08:00") || b[0] != '+' && b[0] != '-' || b[3] != ':' {
		return 0, false
	}
	hours, ok1 := parseDigits(b[1:3])
	minutes, ok2 := parseDigits(b[4:6])
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if b[0] == '-' {
		offset = -offset
	}
	return offset, ok1 && ok2 && hours < 24 && minutes < 60
}

// parseTimeEnd reads v2's payment time, "yyyyMMddHHmmss" in Beijing.
func parseTimeEnd(b []byte) (time.Time, bool) { return parseBeijing(b, "yyyyMMddHHmmss") }

// parseRefundTime reads v2's refund time, "yyyy-MM-dd HH:mm:ss" in Beijing.
func parseRefundTime(b []byte) (time.Time, bool) { return parseBeijing(b, "yyyy-MM-dd HH:mm:ss") }

func parseBeijing(b []byte, layout string) (time.Time, bool) {
	t, ok := parseLayout(b, layout)
	if !ok {
		return time.Time{}, false
	}
	return t.Add(-beijing), true
}

// parseLayout reads a date and time as if it were UTC, byte by byte: a letter of
// the layout stands for a digit, anything else for itself.
func parseLayout(b []byte, layout string) (time.Time, bool) {
	if len(b) != len(layout) {
		return time.Time{}, false
	}
	var year, month, day, hour, minute, second int
	for i := range b {
		part := &year
		switch layout[i] {
		case 'y':
		case 'M':
			part = &month
		case 'd':
			part = &day
		case 'H':
			part = &hour
		case 'm':
			part = &minute
		case 's':
			part = &second
		default:
			if b[i] != layout[i] {
				return time.Time{}, false
			}
			continue
		}
		if b[i] < '0' || b[i] > '9' {
			return time.Time{}, false
		}
		*part = *part*10 + int(b[i]-'0')
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	// time.Date carries over: 30 February would become 2 March.
	if t.Year() != year || int(t.Month()) != month || t.Day() != day || t.Hour() != hour ||
		t.Minute() != minute || t.Second() != second || year < firstYear {
		return time.Time{}, false
	}
	return t, true
}

// isNumber says whether b can be an order, refund, transaction or merchant
// number: letters, digits and the marks that WeChat Pay allows in any of its
// products.
func isNumber(b []byte, longest int) bool {
	if len(b) == 0 || len(b) > longest {
		return false
	}
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		case c == '_', c == '-', c == '|', c == '*', c == '@':
		default:
			return false
		}
	}
	return true
}

// isCurrency says whether b looks like an ISO 4217 code.
func isCurrency(b []byte) bool {
	if len(b) != 3 {
		return false
	}
	for _, c := range b {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}

var strictBase64 = base64.StdEncoding.Strict()

// decodeBase64 appends to dst what src encodes: one line, with padding, no loose
// bits at the end.
func decodeBase64(dst, src []byte) ([]byte, bool) {
	// The decoder skips line breaks, strict or not.
	if bytes.IndexByte(src, '\n') >= 0 || bytes.IndexByte(src, '\r') >= 0 {
		return dst, false
	}
	dst, err := strictBase64.AppendDecode(dst, src)
	return dst, err == nil
}

// lineLength is where MIME encoders break base64.
const lineLength = 76

// unwrapBase64 joins the lines of base64 that was broken after every 76th
// character, by LF or CRLF, with or without a break at the end. Text on one line
// comes back as it is.
func unwrapBase64(src []byte) ([]byte, bool) {
	src = bytes.TrimSuffix(src, []byte("\n"))
	src = bytes.TrimSuffix(src, []byte("\r"))
	if bytes.IndexByte(src, '\n') < 0 {
		return src, true
	}
	joined := make([]byte, 0, len(src))
	for {
		line, rest, more := bytes.Cut(src, []byte("\n"))
		if more {
			line = bytes.TrimSuffix(line, []byte("\r"))
			if len(line) != lineLength {
				return nil, false
			}
		}
		joined = append(joined, line...)
		if !more {
			return joined, len(line) > 0 && len(line) <= lineLength
		}
		src = rest
	}
}

// decodeUpperHex reads hex in capitals, the only form in which WeChat Pay signs.
// Small letters are refused: one message, one spelling.
func decodeUpperHex(dst, src []byte) ([]byte, bool) {
	if len(src)%2 != 0 {
		return dst, false
	}
	digit := func(c byte) (byte, bool) {
		switch {
		case c >= '0' && c <= '9':
			return c - '0', true
		case c >= 'A' && c <= 'F':
			return c - 'A' + 10, true
		}
		return 0, false
	}
	for i := 0; i < len(src); i += 2 {
		high, ok1 := digit(src[i])
		low, ok2 := digit(src[i+1])
		if !ok1 || !ok2 {
			return dst, false
		}
		dst = append(dst, high<<4|low)
	}
	return dst, true
}
