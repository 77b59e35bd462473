package httpapi

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

func post(h http.Handler, body string) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/notify/shop", strings.NewReader(body)))
	return w.Code
}

// P04: nothing in the body, a body that ends early, a body that somebody read before us.
func TestMissingAndCutBodies(t *testing.T) {
	t.Parallel()
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		b := serve(t, nil)
		if got := b.send(t, "POST", "/notify/shop", ""); got.status != 400 {
			t.Errorf("status %d, want 400", got.status)
		}
		if line := b.theLine(t); line["reason"] != "tp.no_envelope" || line["body_bytes"] != 0.0 {
			t.Errorf("logged as %v with %v bytes", line["reason"], line["body_bytes"])
		}
	})
	t.Run("cut", func(t *testing.T) {
		t.Parallel()
		b := serve(t, nil)
		public, _ := b.Addrs()
		conn := dialTCP(t, public).(*net.TCPConn)
		_, err := io.WriteString(conn, "POST /notify/shop HTTP/1.1\r\nHost: x\r\nContent-Length: 919\r\n\r\n"+strings.Repeat("x", 400))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got := readReply(t, conn); got.status != 400 {
			t.Errorf("status %d, want 400", got.status)
		}
		if line := b.theLine(t); line["reason"] != "edge.body_cut" || line["body_bytes"] != 400.0 {
			t.Errorf("logged as %v with %v bytes", line["reason"], line["body_bytes"])
		}
		if len(b.adapter.requests()) != 0 {
			t.Error("the adapter was given half a message")
		}
	})
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		r := httptest.NewRequest("POST", "/notify/shop", strings.NewReader("ok"))
		_, _ = io.Copy(io.Discard, r.Body)
		_, done, err := newIntake().read(httptest.NewRecorder(), r, receivedAt)
		done()
		if err == nil || !strings.HasPrefix(err.Error(), codeBodyLost) {
			t.Errorf("a body that was read before: %v", err)
		}
	})
}

// Whatever is announced, the bytes and the error are those of io.ReadAll; and no
// announcement gets much memory by itself.
func TestReadAllReadsWhatIsThere(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, size := range []int{0, 1, 511, 512, 513, promptBytes - 1, promptBytes, promptBytes + 1, smallBodyBytes} {
		text := strings.Repeat("x", size)
		for _, announced := range []int64{-1, 0, 1, int64(size) - 1, int64(size), int64(size) + 1, promptBytes, maxBodyBytes} {
			for name, src := range map[string]io.Reader{
				"its end alone":           strings.NewReader(text),
				"its end with the last":   iotest.DataErrReader(strings.NewReader(text)),
				"byte by byte":            iotest.OneByteReader(strings.NewReader(text)),
				"an error after its last": io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)),
			} {
				body, err := readAll(src, announced)
				if string(body) != text || (err != nil) != strings.HasPrefix(name, "an error") {
					t.Errorf("%s, %d of %d announced: %d bytes, %v", name, size, announced, len(body), err)
				}
			}
		}
	}
	if body, err := readAll(strings.NewReader(""), maxBodyBytes); err != nil || cap(body) > promptBytes {
		t.Errorf("an announcement got %d bytes, %v", cap(body), err)
	}
}

// counted is a connection that counts what the server reads from it.
type counted struct {
	net.Listener
	read *atomic.Int64
}

type countedConn struct {
	*net.TCPConn
	read *atomic.Int64
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{conn.(*net.TCPConn), c.read}, nil
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// T25: one byte more than 1 MiB is too much, with a length and without one, and
// no more than 64 KiB are read beyond it.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	chunked := func(n int) string {
		return "Transfer-Encoding: chunked\r\n\r\n" + strconv.FormatInt(int64(n), 16) + "\r\n" + strings.Repeat("x", n) + "\r\n0\r\n\r\n"
	}
	measured := func(n int) string {
		return "Content-Length: " + strconv.Itoa(n) + "\r\n\r\n" + strings.Repeat("x", n)
	}
	for _, c := range []struct {
		name, rest string
		status     int
	}{
		{"the most, with a length", measured(maxBodyBytes), 200},
		{"the most, in chunks", chunked(maxBodyBytes), 200},
		{"one more, with a length", measured(maxBodyBytes + 1), 413},
		{"one more, in chunks", chunked(maxBodyBytes + 1), 413},
		{"8 MiB, with a length", measured(8 << 20), 413},
		{"8 MiB, in chunks", chunked(8 << 20), 413},
		{"8 MiB of something encoded", "Content-Encoding: gzip\r\n" + measured(8<<20), 415},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			var read atomic.Int64
			listen := func() net.Listener {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				return l
			}
			b.use(counted{listen(), &read}, listen())
			b.run()
			public, _ := b.Addrs()
			conn := dialTCP(t, public)
			wrote := make(chan struct{})
			go func() {
				defer close(wrote)
				_, _ = io.WriteString(conn, "POST /notify/shop HTTP/1.1\r\nHost: x\r\n"+c.rest) // ends early where the server hangs up
			}()
			if got := readReply(t, conn); got.status != c.status {
				t.Errorf("status %d, want %d", got.status, c.status)
			}
			_ = conn.Close()
			<-wrote
			b.end()
			if err := <-b.ended; err != nil {
				t.Error(err)
			}
			const slack = 64 << 10
			if got := read.Load(); got > maxBodyBytes+slack {
				t.Errorf("%d bytes read, %d beyond the limit", got, got-maxBodyBytes)
			}
		})
	}
}

// Slow senders of large bodies cannot fill the memory: only so many are held.
func TestLargeBodiesTakeTurns(t *testing.T) {
	t.Parallel()
	in := newIntake()
	large := func() *http.Request {
		return httptest.NewRequest("POST", "/notify/shop", strings.NewReader(strings.Repeat("x", smallBodyBytes+1)))
	}
	var dones []func()
	for range maxLargeBodies {
		body, done, err := in.read(httptest.NewRecorder(), large(), receivedAt)
		if err != nil || len(body) != smallBodyBytes+1 {
			t.Fatalf("%d bytes, %v", len(body), err)
		}
		dones = append(dones, done)
	}
	_, done, err := in.read(httptest.NewRecorder(), large(), receivedAt)
	done()
	if err == nil {
		t.Fatal("one large body too many was read")
	}
	small := httptest.NewRequest("POST", "/notify/shop", strings.NewReader("ok"))
	if _, done, err = in.read(httptest.NewRecorder(), small, receivedAt); err != nil {
		t.Errorf("a small body beside them: %v", err)
	}
	done()
	for _, done := range dones {
		done()
	}
	if _, done, err = in.read(httptest.NewRecorder(), large(), receivedAt); err != nil {
		t.Errorf("a large body after them: %v", err)
	}
	done()
}
