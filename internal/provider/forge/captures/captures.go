// Package captures makes the captures and the throw-away keys in testdata/: one
// request for every kind of message that providers send, and for every way in
// which one goes wrong. What each must become stands in testdata/expected.tsv,
// which is written by hand.
//
// The same build makes the same bytes: numbers and times follow from a capture's
// number, RSA signatures by PKCS #1 v1.5 are deterministic. It imports forge and
// the packages under it, and like forge no adapter.
package captures

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

//go:generate go run ../../../../testdata/generate ../../../../testdata

// File is one generated file.
type File struct {
	Path    string // within testdata, with slashes
	Content []byte
}

// Folders are those that hold generated files and nothing else.
func Folders() []string { return []string{"captures", "keys"} }

// Files makes every generated file, sorted by path.
func Files() []File {
	files := keyFiles()
	for _, list := range [][]capture{
		wechatV2(), wechatV2Refused(), wechatV2Refunds(),
		wechatV3(), wechatV3Refunds(), wechatV3Events(), wechatV3Refused(),
		alipayTrades(), alipayForms(), alipayOthers(), alipayRefused(),
		conflicts(), repeats(),
	} {
		for _, c := range list {
			files = append(files, c.file())
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}

// capture is one request to one account. Its number orders the captures, and
// numbers, times and names follow from it.
type capture struct {
	number  int
	name    string
	account string
	message forge.Message

	method, query string   // POST without a query when empty
	header        []string // "Name: value", besides the message's own
	late          time.Duration
}

func (c capture) file() File {
	line := cmp.Or(c.method, http.MethodPost) + " /notify/" + c.account + c.query + " HTTP/1.1"
	lines := []string{"Host: pay.example.com"}
	if slices.ContainsFunc(c.header, func(h string) bool { return strings.HasPrefix(h, "Host: ") }) {
		lines = nil
	}
	lines = append(lines, c.header...)
	names := make([]string, 0, len(c.message.Header))
	for name := range c.message.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		lines = append(lines, name+": "+c.message.Header.Get(name))
	}
	lines = append(lines, "Content-Length: "+strconv.Itoa(len(c.message.Body)))
	var out bytes.Buffer
	err := provider.WriteCapture(&out, order.Capture{
		RequestLine: line, Header: []byte(strings.Join(lines, "\r\n") + "\r\n"), Body: c.message.Body,
	}, at(c.number).Add(c.late))
	if err != nil {
		panic(err) // a buffer takes everything
	}
	return File{fmt.Sprintf("captures/%d-%s.http", c.number, c.name), out.Bytes()}
}

// morning is before the first capture: 2026-01-01 08:00 in Beijing.
var morning = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at is when a capture was received: one minute after the one numbered before it.
func at(number int) time.Time { return morning.Add(time.Duration(number) * time.Minute) }

// paid is when the payment happened that a capture tells of.
func paid(number int) time.Time { return at(number).Add(-2 * time.Second) }

// The numbers that a capture uses for the order and the payment it begins.
func orderNo(number int) string { return fmt.Sprintf("ORDER%d", number) }
func wechatTxn(number int) string {
	return fmt.Sprintf("4200000000202601010000000%03d", number)
}
func wechatRefund(number int) string {
	return fmt.Sprintf("5030000000202601010000000%03d", number)
}
func alipayTxn(number int) string { return fmt.Sprintf("2026010122001400000000000%03d", number) }
