package httpapi

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// However many fields there are, each value of each stands in the capture, in
// the order of the names, and nothing is left of the room that was made for it.
func TestCaptureHoldsEveryField(t *testing.T) {
	t.Parallel()
	for _, fields := range []int{0, 1, 16, 17, 300} {
		r := httptest.NewRequest("POST", "http://x/notify/shop", nil)
		var want strings.Builder
		want.WriteString("Host: x\r\n")
		for i := range fields {
			name := fmt.Sprintf("Wechatpay-%03d", i)
			r.Header[name] = []string{"first", ""}
			want.WriteString(name + ": first\r\n" + name + ": \r\n")
		}
		r.Header.Set("Cookie", "secret")
		want.WriteString("Content-Length: 2\r\n")
		got := capture(r, []byte("ok"))
		if string(got.Header) != want.String() {
			t.Errorf("%d fields: %q, want %q", fields, got.Header, want.String())
		}
		if cap(got.Header) != len(got.Header) {
			t.Errorf("%d fields: %d bytes take %d", fields, len(got.Header), cap(got.Header))
		}
	}
}
