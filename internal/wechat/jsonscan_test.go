package wechat

import "testing"

// skipPlain stops at the first byte that means something, wherever among the eight
// it stands and whatever stands around it, and nowhere else.
func TestSkipPlain(t *testing.T) {
	t.Parallel()
	for value := range 256 {
		c := byte(value)
		for at := range 24 {
			for _, around := range []byte{' ', '!', '#', '[', ']', 'A', 0x7f, 'Z', '0'} {
				text := make([]byte, 24)
				for i := range text {
					text[i] = around
				}
				text[at] = c
				want := at
				if c >= ' ' && c < 0x80 && c != '"' && c != '\\' {
					want = len(text)
				}
				if got := skipPlain(text, 0); got != want {
					t.Errorf("%q at %d among %q: stopped at %d, want %d", c, at, around, got, want)
				}
			}
		}
	}
	if got := skipPlain([]byte("0123456789"), 1); got != 9 {
		t.Errorf("of nine bytes it went over %d", got-1)
	}
}

func BenchmarkReadEnvelope(b *testing.B) {
	body := v3(paidEvent(payment().V3())).Body
	var d document
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if fault := d.read(body, maxEnvelopeNodes); fault != nil {
			b.Fatal(fault)
		}
	}
}
